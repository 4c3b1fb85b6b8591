package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RunningServerTest {

    private static final String METERS = """
            # TYPE weir_permits_used gauge
            weir_permits_used{backend="mvc"} 2.0
            weir_permits_used{backend="reactive"} 3.0
            weir_inflight 5.0
            """;

    @Test
    void reportsMissingMeter() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/actuator/prometheus", exchange -> {
            byte[] bytes = METERS.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        try {
            URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
            RunningServer gateway = new RunningServer("gateway", Optional.empty(), uri, uri);

            assertThat(gateway.metric("weir_permits_used")).isEqualTo(5);
            assertThat(gateway.metric("weir_permits_used", "backend=\"mvc\"")).isEqualTo(2);
            assertThat(gateway.metric("weir_inflight")).isEqualTo(5);
            assertThatThrownBy(() -> gateway.metric("weir_permits"))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("gateway has no meter weir_permits");
            assertThatThrownBy(() -> gateway.metric("weir_permits_used", "backend=\"other\""))
                    .isInstanceOf(RunFailure.class)
                    .hasMessage("gateway has no meter weir_permits_used backend=\"other\"");
        } finally {
            server.stop(0);
        }
    }

    @Test
    void reportsServerThatDoesNotAnswer() {
        URI absent = URI.create("http://127.0.0.1:" + Host.freePort());
        RunningServer gateway = new RunningServer("gateway", Optional.empty(), absent, absent);

        assertThatThrownBy(() -> gateway.metric("weir_inflight"))
                .isInstanceOf(RunFailure.class)
                .hasMessage("gateway does not report meters: java.net.ConnectException");
    }
}
