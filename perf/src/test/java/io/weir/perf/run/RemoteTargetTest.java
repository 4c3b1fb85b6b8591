package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RemoteTargetTest {

    private final List<HttpServer> servers = new ArrayList<>();
    private final List<String> received = Collections.synchronizedList(new ArrayList<>());

    @AfterEach
    void stop() {
        servers.forEach(server -> server.stop(0));
    }

    private String server(int status, String body) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            received.add(exchange.getRequestMethod() + ' ' + exchange.getRequestURI());
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        servers.add(server);
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"gateway", "127.0.0.1:8080", "ftp://gateway", "http:///path", "http://gateway?a", "http://a b"})
    void refusesInvalidUrl(String text) {
        assertThatThrownBy(() -> RemoteTarget.parse("http://127.0.0.1:8080", text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("--faults " + text + " (expected: a URL, such as http://127.0.0.1:8080)");
    }

    @Test
    void acceptsAnyAnswerOfTheGateway() throws Exception {
        RemoteTarget target = RemoteTarget.parse(server(404, "no route"), server(200, "{ \"faults\" : [] }") + "/");

        assertThatCode(target::check).doesNotThrowAnyException();
        assertThat(received).containsExactly("GET /", "GET /faults");
    }

    @Test
    void reportsServerThatDoesNotAnswer() throws Exception {
        try (Socket closed = new Socket()) {
            // Bound without listening.
            closed.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            String absent = "http://127.0.0.1:" + closed.getLocalPort();

            assertThatThrownBy(() -> RemoteTarget.parse(absent, absent).check())
                    .isInstanceOf(RunFailure.class)
                    .hasMessageStartingWith("--target " + absent + " does not answer: ConnectException");
            String gateway = server(200, "ok");
            assertThatThrownBy(() -> RemoteTarget.parse(gateway, absent).check())
                    .isInstanceOf(RunFailure.class)
                    .hasMessageStartingWith("--faults " + absent + "/faults does not answer: ConnectException");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "200, ok, not a simulator",
        "404, '{\"faults\": []}', not a simulator",
        "403, not from this host, sim.faults.remote=true"
    })
    void refusesServerThatIsNotASimulator(int status, String body, String message) throws Exception {
        String simulator = server(status, body);
        RemoteTarget target = RemoteTarget.parse(server(200, "ok"), simulator);

        assertThatThrownBy(target::check)
                .isInstanceOf(RunFailure.class)
                .hasMessageStartingWith("--faults " + simulator + "/faults: ")
                .hasMessageContaining(message);
    }

    @Test
    void isHealedOnceAtTheEndOfTheRun(@TempDir Path directory) throws Exception {
        RemoteTarget target = RemoteTarget.parse(server(200, "ok"), server(200, "{\"faults\": []}"));

        CpuAllocation generator = CpuAllocation.generatorOnly(List.of(0));
        try (ExperimentContext context = TestContext.create(directory, generator, Optional.of(target))) {
            target.servers().backend().setFault("{\"kind\": \"hang\"}");
            // Like Ctrl-C.
            context.stopAll();
        }

        assertThat(received).containsExactly("PUT /faults", "DELETE /faults", "GET /faults");
    }
}
