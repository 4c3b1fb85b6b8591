package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A deployed gateway whose management port is a server of the test. */
class ChaosTargetTest {

    private final List<String> received = Collections.synchronizedList(new ArrayList<>());
    private final Map<String, String> answers = new HashMap<>();
    private HttpServer management;
    private int faults;
    private int deleteStatus = 200;

    @BeforeEach
    void start() throws IOException {
        answers.put("/actuator/weirfaults", "{\"enabled\":true,\"maxDurationMs\":600000,\"faults\":[]}");
        answers.put("/actuator/weir", """
                {"backends":{"orders":{"deadlineMs":800.0},"search":{"deadlineMs":500.0}},
                 "routes":[{"id":"a","backend":"orders"},{"id":"a2","backend":"orders"},
                           {"id":"b","backend":"search"},{"id":"plain","backend":null}]}
                """);
        management = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        management.createContext("/", exchange -> {
            String token = exchange.getRequestHeaders().getFirst("Authorization");
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            received.add((exchange.getRequestMethod() + ' ' + exchange.getRequestURI() + ' ' + body).strip()
                    + (token == null ? "" : " as " + token));
            boolean isStart = exchange.getRequestMethod().equals("POST");
            String answer = isStart
                    ? "{\"id\":" + ++faults + "}"
                    : answers.getOrDefault(exchange.getRequestURI().getPath(), "{}");
            byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(
                    exchange.getRequestMethod().equals("DELETE") ? deleteStatus : 200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        management.start();
    }

    @AfterEach
    void stop() {
        management.stop(0);
    }

    private ChaosTarget target(String route, String neighbour) {
        URI url = URI.create("http://127.0.0.1:" + management.getAddress().getPort());
        return new ChaosTarget(
                URI.create("http://127.0.0.1:1"),
                url,
                "operator-0123456789",
                ChaosOptions.parse(Map.of("--route", route + "=/a", "--neighbour", neighbour + "=/b")));
    }

    @Test
    void readsTheFactsOfItsRoute() {
        assertThat(target("a", "b").check()).isEqualTo(new ChaosTarget.RouteFacts("orders", "search", 800));
        assertThat(received)
                .containsExactly(
                        "GET /actuator/weirfaults as Bearer operator-0123456789",
                        "GET /actuator/weir as Bearer operator-0123456789");
    }

    @ParameterizedTest
    @CsvSource({
        "c, b, '--route c (expected: a route of a backend: a, a2, b)'",
        "a, plain, '--neighbour plain (expected: a route of a backend: a, a2, b)'",
        "a, a2, '--route a and --neighbour a2: both of backend orders (expected: routes of two backends)'"
    })
    void refusesRoutesThatShowNothing(String route, String neighbour, String message) {
        assertThatThrownBy(() -> target(route, neighbour).check())
                .isInstanceOf(RunFailure.class)
                .hasMessage(message);
    }

    @Test
    void refusesAGatewayThatInjectsNothing() {
        answers.put("/actuator/weirfaults", "{\"enabled\":false,\"maxDurationMs\":600000,\"faults\":[]}");

        assertThatThrownBy(() -> target("a", "b").check())
                .isInstanceOf(RunFailure.class)
                .hasMessageEndingWith(": weir.faults.enabled: false (expected: true)");
    }

    @Test
    void endsEachFaultOnce() {
        ChaosTarget target = target("a", "b");
        long first = target.inject(ChaosOptions.order("hang", 800), 20);
        target.inject(ChaosOptions.order("latency", 800), 20);
        target.end(first);
        target.endFaults();
        target.endFaults();

        assertThat(received)
                .containsExactly(
                        "POST /actuator/weirfaults {\"duration\":\"20s\",\"fault\":\"hang\",\"percent\":100,"
                                + "\"route\":\"a\"} as Bearer operator-0123456789",
                        "POST /actuator/weirfaults {\"duration\":\"20s\",\"fault\":\"latency\",\"latency\":\"266ms\","
                                + "\"percent\":100,\"route\":\"a\"} as Bearer operator-0123456789",
                        "DELETE /actuator/weirfaults/1 as Bearer operator-0123456789",
                        "DELETE /actuator/weirfaults/2 as Bearer operator-0123456789");
    }

    /** Ctrl-C between two phases. */
    @Test
    void startsNoFaultAfterTheEnd() {
        ChaosTarget target = target("a", "b");
        target.endFaults();

        assertThatThrownBy(() -> target.inject(ChaosOptions.order("hang", 800), 20))
                .isInstanceOf(RunFailure.class);
        assertThat(received).isEmpty();
    }

    @Test
    void goesOnIfAFaultHasHealedByItself() {
        deleteStatus = 404;
        ChaosTarget target = target("a", "b");
        long fault = target.inject(ChaosOptions.order("hang", 800), 20);
        target.end(fault);
        target.endFaults();

        assertThat(received).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    --route     | orders       | --route orders (expected: ID=PATH, the route's id and a path of it, such as orders=/orders/7)
                    --route     | orders=7     | --route orders=7 (expected: ID=PATH, the route's id and a path of it, such as orders=/orders/7)
                    --neighbour | =/b          | --neighbour =/b (expected: ID=PATH, the route's id and a path of it, such as orders=/orders/7)
                    --inject    | hang,fire    | --inject fire (expected: hang, latency, abort, reset or truncate, with commas)
                    --rate      | 0            | --rate 0 (expected: 1 to 1000)
                    --rate      | many         | --rate many (expected: 1 to 1000)
                    --seconds   | 4            | --seconds 4 (expected: 5 to 600)
                    """)
    void refusesWrongOptions(String option, String value, String message) {
        Map<String, String> values = new HashMap<>(Map.of("--route", "a=/a", "--neighbour", "b=/b"));
        values.put(option, value);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> ChaosOptions.parse(values))
                .withMessage(message);
    }

    @Test
    void makesAFaultLongEnoughForTheDeadline() {
        ChaosOptions options = ChaosOptions.parse(Map.of("--route", "a=/a", "--neighbour", "b=/b"));

        assertThat(options.faultSeconds(800)).isEqualTo(10);
        assertThat(options.faultSeconds(20_000)).isEqualTo(23);
    }
}
