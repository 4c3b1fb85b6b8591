package io.weir.faults;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClient;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Injected faults over sockets, through both doors, as an operator starts them. */
@ExtendWith(Leaks.class)
class FaultInjectionIT {

    private static final String BIG = "x".repeat(100_000);

    private static TestBackend backend;
    private static TestBackend replica;
    private static TestGateway gateway;
    private static java.net.http.HttpClient operator;

    @BeforeAll
    static void start() {
        TestBackend.Behaviour behaviour = (request, conversation) -> {
            conversation.drain(request);
            conversation.answer(200, request.target().endsWith("/big") ? BIG : "small");
        };
        backend = TestBackend.start(behaviour);
        replica = TestBackend.start(behaviour);
        operator = java.net.http.HttpClient.newHttpClient();
        gateway = TestGateway.setup()
                .weir("faults: { enabled: true }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .backend("late", backend.uri(), "deadline: 500ms", "circuit-breaker: { stall-duration: 100ms }")
                .instances(
                        "replicas",
                        List.of(backend.uri(), replica.uri()),
                        "deadline: 20s",
                        "retry-budget: { floor: 1000 }")
                .route("orders", "orders")
                .route("late", "late")
                .route("replicas", "replicas")
                .start();
    }

    @BeforeEach
    void calm() {
        gateway.calm();
    }

    @AfterEach
    void nothingIsHeld() throws Exception {
        manage("DELETE", "", "");
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        replica.close();
        operator.close();
    }

    private static JsonNode manage(String method, String path, String body) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + gateway.managementPort() + "/actuator/weirfaults" + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body.replace('\'', '"')));
        if (!body.isEmpty()) {
            request.header("Content-Type", "application/json");
        }
        HttpResponse<String> answer = operator.send(request.build(), HttpResponse.BodyHandlers.ofString());
        assertThat(answer.statusCode()).as("%s", answer.body()).isEqualTo(200);
        return JsonMapper.shared().readTree(answer.body());
    }

    private static long inject(String order) throws Exception {
        return manage("POST", "", order).path("id").asLong();
    }

    private static TestCaller.Answer get(Door door, String route, String rest, String... fields) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, rest), fields);
    }

    private static double injected(String of, String fault) {
        return gateway
                .bean(MeterRegistry.class)
                .find("weir.faults.injected")
                .tags("backend", of, "fault", fault)
                .counters()
                .stream()
                .mapToDouble(counter -> counter.count())
                .sum();
    }

    @Door.Any
    void answersWithAStatusAndSaysThatItIsInjected(Door door) throws Exception {
        double before = injected("orders", "abort");
        int requests = backend.requests();
        inject("{'backend':'orders','fault':'abort','status':503,'duration':'30s'}");

        TestCaller.Answer answer = get(door, "orders", "abort-" + door);

        assertThat(answer.status()).isEqualTo(503);
        assertThat(answer.header("proxy-status"))
                .isEqualTo("weir; error=proxy_internal_response; details=\"fault-injected\"");
        assertThat(answer.header("retry-after")).isNotNull();
        JsonNode problem = answer.problem();
        assertThat(problem.path("type").asString()).isEqualTo("urn:weir:fault-injected");
        assertThat(problem.path("status").asInt()).isEqualTo(503);
        assertThat(problem.path("detail").asString())
                .startsWith("injected fault ")
                .endsWith(" (abort)");
        JsonNode line = gateway.assertTold(door, "orders", door.path("orders", "abort-" + door), 503, "fault-injected");
        assertThat(line.path("fault").asString()).isEqualTo("abort");
        assertThat(line.path("bytes").asInt()).isEqualTo(answer.body().length);
        assertThat(injected("orders", "abort")).isEqualTo(before + 1);
        gateway.assertFed("orders", 1, 1, 0);
        assertThat(backend.requests()).as("nothing is sent").isEqualTo(requests);
    }

    @Door.Any
    void losesTheConnection(Door door) throws Exception {
        inject("{'route':'" + door.id("orders") + "','fault':'reset','duration':'30s'}");

        assertThat(get(door, "orders", "reset-" + door).reason()).isEqualTo("connection-lost");
        JsonNode line =
                gateway.assertTold(door, "orders", door.path("orders", "reset-" + door), 502, "connection-lost");
        assertThat(line.path("fault").asString()).isEqualTo("reset");
        Door other = door == Door.COMPILED ? Door.GENERAL : Door.COMPILED;
        assertThat(get(other, "orders", "other").status())
                .as("of another route")
                .isEqualTo(200);
        gateway.assertFed("orders", 2, 1, 0);
    }

    @Door.Each
    void breaksALargeAnswerOff(Door door) throws Exception {
        inject("{'backend':'orders','fault':'truncate','afterBytes':50000,'duration':'30s'}");

        assertThatThrownBy(() -> get(door, "orders", door + "/big")).isInstanceOf(IOException.class);

        JsonNode line = gateway.logged(door.path("orders", door + "/big"));
        assertThat(line.path("outcome").asString()).isEqualTo("connection-lost");
        assertThat(line.path("fault").asString()).isEqualTo("truncate");
        assertThat(line.path("bytes").asLong()).isLessThanOrEqualTo(50_000);
        gateway.assertFed("orders", 1, 1, 0);
        assertThat(get(door, "orders", "small").status()).as("a shorter answer").isEqualTo(200);
    }

    /** Nothing of a small answer has reached the caller, so it gets a refusal. */
    @Door.Any
    void refusesASmallAnswerThatBreaksOff(Door door) throws Exception {
        inject("{'backend':'orders','fault':'truncate','afterBytes':2,'duration':'30s'}");

        assertThat(get(door, "orders", "cut").reason()).isEqualTo("connection-lost");
        gateway.assertFed("orders", 1, 1, 0);
    }

    @Door.Any
    void delaysTheRequestsWithAHeaderOnly(Door door) throws Exception {
        inject("{'backend':'orders','fault':'latency','latency':'300ms','header':'x-chaos','value':'1',"
                + "'duration':'30s'}");

        assertThat(get(door, "orders", "late-" + door, "X-Chaos: 1").text()).isEqualTo("small");
        assertThat(get(door, "orders", "soon-" + door, "X-Chaos: 2").text()).isEqualTo("small");

        JsonNode late = gateway.logged(door.path("orders", "late-" + door));
        assertThat(late.path("backend_ms").asDouble()).isGreaterThanOrEqualTo(300);
        assertThat(late.path("fault").asString()).isEqualTo("latency");
        assertThat(gateway.logged(door.path("orders", "soon-" + door)).has("fault"))
                .isFalse();
        gateway.assertFed("orders", 2, 0, 0);
    }

    /** The breaker opens, stays open while probes hang, too, and closes soon after the end of the fault. */
    @Test
    void opensTheBreakerOfABackendThatHangsAndClosesItAfterwards() throws Exception {
        int requests = backend.requests();
        long fault = inject("{'backend':'late','fault':'hang','duration':'30s'}");
        List<CompletableFuture<TestCaller.Answer>> calls = IntStream.range(0, 8)
                .mapToObj(i -> TestCaller.ask(gateway.port(), Door.COMPILED.path("late", "hang")))
                .toList();
        await().until(() -> gateway.backend("late").health().state() == State.OPEN);
        for (CompletableFuture<TestCaller.Answer> call : calls) {
            assertThat(call.get().reason()).isIn("deadline-exceeded", "circuit-open");
        }
        await().until(() -> {
            TestCaller.get(gateway.port(), Door.COMPILED.path("late", "probe"));
            return manage("GET", "", "").at("/faults/0/calls").asLong() > calls.size();
        });
        assertThat(gateway.backend("late").health().state())
                .as("its probes hang, too")
                .isEqualTo(State.OPEN);
        assertThat(backend.requests()).as("nothing is sent").isEqualTo(requests);

        manage("DELETE", "/" + fault, "");

        await().until(() -> TestCaller.get(gateway.port(), Door.COMPILED.path("late", "healed"))
                        .status()
                == 200);
    }

    @Door.Any
    void actsOnTheCallsOfOneInstance(Door door) throws Exception {
        inject("{'backend':'replicas','instance':'127.0.0.1:" + replica.port() + "','fault':'reset','duration':'30s'}");
        double before = injected("replicas", "reset");
        int requests = replica.requests();

        for (int i = 0; i < 20; i++) {
            assertThat(get(door, "replicas", "1").status())
                    .as("a lost call goes to the other instance")
                    .isEqualTo(200);
        }

        assertThat(injected("replicas", "reset")).isGreaterThan(before);
        assertThat(replica.requests()).isEqualTo(requests);
    }

    @Door.Any
    void answersAHandshake(Door door) throws Exception {
        inject("{'backend':'orders','fault':'abort','status':429,'duration':'30s'}");

        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("orders", "7"));
            assertThat(caller.answer().status()).isEqualTo(429);
        }
    }

    @Door.Any
    void answersGrpcCallersWithAStatus(Door door) throws Exception {
        inject("{'backend':'orders','fault':'abort','status':503,'duration':'30s'}");

        HttpHeaders refused = Objects.requireNonNull(HttpClient.create()
                        .protocol(HttpProtocol.H2C)
                        .baseUrl("http://127.0.0.1:" + gateway.port())
                        .headers(head ->
                                head.set("content-type", "application/grpc").set("te", "trailers"))
                        .get()
                        .uri(door.path("orders", "8"))
                        .response()
                        .block(PATIENCE))
                .responseHeaders();

        assertThat(refused.get("grpc-status")).isEqualTo("14");
        assertThat(refused.get("grpc-message")).isEqualTo("fault-injected");
    }

    @ParameterizedTest
    @EnumSource(
            value = FaultType.class,
            names = {"HANG", "LATENCY"})
    void holdsNothingWhenCallersLeave(FaultType type) throws Exception {
        inject("{'backend':'orders','fault':'" + type.word() + "'"
                + (type == FaultType.LATENCY ? ",'latency':'10s'" : "") + ",'duration':'30s'}");
        for (Door door : Door.values()) {
            try (TestCaller caller = TestCaller.to(gateway.port())) {
                caller.send(TestCaller.head("POST", door.path("orders", "leaves"), "Content-Length: 3") + "abc");
                await().until(() -> gateway.backend("orders").bulkhead().inUse() == 1);
            }
            await().until(() -> gateway.backend("orders").bulkhead().inUse() == 0);
        }
    }

    @Test
    void healsByItselfAndIsShownUntilThen() throws Exception {
        String path = Door.COMPILED.path("orders", "healing");
        inject("{'backend':'orders','fault':'abort','status':500,'duration':'2s'}");
        HttpResponse<String> shown = operator.send(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + gateway.managementPort() + "/actuator/weir"))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
        assertThat(JsonMapper.shared()
                        .readTree(shown.body())
                        .at("/faults/0/text")
                        .asString())
                .isEqualTo("abort with 500 of 100 % of the calls of backend orders");

        await().until(() -> TestCaller.get(gateway.port(), path).status() == 200);
        await().until(() -> gateway.bean(InjectedFaults.class).active().isEmpty());
        assertThat(gateway.bean(MeterRegistry.class)
                        .get("weir.faults.active")
                        .gauge()
                        .value())
                .isZero();
    }
}
