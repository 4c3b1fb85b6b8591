package io.weir.capacity;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.capacity.CapacitySignal.Ignored;
import io.weir.instance.Instance;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitInForce.Binding;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.OneGatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestHttp2Backend;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Backends that state their capacity, over sockets. */
class CapacitySignalIT extends OneGatewayTests {

    private static final String SIGNAL = "capacity-signal: { header: weir-capacity }";
    private static final String FIELD = "weir-capacity";

    @SuppressWarnings("NullAway.Init") // Set before all tests.
    private static List<TestBackend> servers;

    @SuppressWarnings("NullAway.Init") // Set before all tests.
    private static TestHttp2Backend http2;

    @BeforeAll
    static void start() {
        servers = Stream.generate(TestBackend::healthy).limit(4).toList();
        http2 = new TestHttp2Backend();
        gateway = TestGateway.setup()
                .backend("plain", servers.getFirst().uri(), "deadline: 20s", "bulkhead: {}", SIGNAL)
                .backend("http2", http2.uri(), "protocol: h2", "deadline: 20s", "bulkhead: {}", SIGNAL)
                .instances(
                        "pair",
                        servers.subList(1, 3).stream().map(TestBackend::uri).toList(),
                        "deadline: 20s",
                        "bulkhead: {}",
                        SIGNAL)
                .backend(
                        "checked",
                        servers.getLast().uri(),
                        "deadline: 20s",
                        "bulkhead: {}",
                        SIGNAL,
                        "health-check: { path: /up, interval: 100ms, timeout: 100ms }")
                .route("plain", "plain")
                .route("http2", "http2")
                .route("pair", "pair")
                .route("checked", "checked")
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        servers.forEach(TestBackend::close);
        http2.close();
    }

    /** Answers each request with this value of the field. */
    private static void says(TestBackend server, String value) {
        server.behave((request, conversation) -> conversation.write(
                "HTTP/1.1 200 OK\r\nVia: 1.1 other\r\nWeir-Capacity: " + value + "\r\nContent-Length: 0\r\n\r\n"));
    }

    private static LimitInForce limit(String backend) {
        return gateway.backend(backend).limit();
    }

    private static void assertStated(String backend, int calls) {
        assertThat(limit(backend).inForce()).isEqualTo(calls);
        assertThat(limit(backend).binding()).isEqualTo(Binding.SIGNAL);
    }

    @Door.Both
    void putsTheNumberOfAnAnswerInForceAndHidesItsField(Door door) throws IOException {
        int calls = door == Door.COMPILED ? 30 : 31;
        says(servers.getFirst(), String.valueOf(calls));

        TestCaller.Answer answer = get(door, "plain", "item");

        assertThat(answer.header(FIELD)).isNull();
        assertThat(answer.header("via")).contains("other");
        assertStated("plain", calls);
    }

    @Door.Any
    void readsTrailersAndHidesTheFieldThereToo(Door door) throws IOException {
        servers.getFirst()
                .behave((request, conversation) -> conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                        + "\r\n\r\n2\r\nok\r\n0\r\nWeir-Capacity: 33\r\nChecked: yes\r\n\r\n"));

        TestCaller.Answer answer = get(door, "plain", "item", "TE: trailers");

        assertThat(answer.trailers()).containsKey("checked").doesNotContainKey(FIELD);
        assertStated("plain", 33);
    }

    @Door.Any
    void countsANumberThatItIgnores(Door door) throws IOException {
        says(servers.getFirst(), "32");
        get(door, "plain", "item");
        says(servers.getFirst(), "many");
        CapacitySignal signal =
                gateway.backend("plain").instances().first().capacity().signal();
        long before = signal.ignored(Ignored.NOT_A_NUMBER);

        assertThat(get(door, "plain", "item").header(FIELD)).isNull();

        assertThat(signal.ignored(Ignored.NOT_A_NUMBER)).isEqualTo(before + 1);
        assertStated("plain", 32);
    }

    @Door.Any
    void readsTheAnswerThatOpensAWebSocket(Door door) throws IOException {
        servers.getFirst()
                .behave((request, conversation) ->
                        TestWebSocket.accept(request, conversation, null, "Weir-Capacity: 36", "Checked: yes"));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            TestWebSocket.ask(caller, door.path("plain", "socket"));

            TestCaller.Answer answer = caller.answer();

            assertThat(answer.status()).isEqualTo(101);
            assertThat(answer.headers()).containsEntry("checked", "yes").doesNotContainKey(FIELD);
            assertStated("plain", 36);
        }
    }

    /** With one call in flight, the ceiling is the smallest limit. */
    @Door.Any
    void lowersTheLimitByALoadReport(Door door) throws IOException {
        for (String report :
                List.of("TEXT application_utilization=1.5", "JSON {\"cpu_utilization\": 1.5, \"rps_fractional\": 9}")) {
            says(servers.getFirst(), "20");
            get(door, "plain", "item");
            assertStated("plain", 20);
            says(servers.getFirst(), report);

            assertThat(get(door, "plain", "item").header(FIELD)).isNull();

            assertStated("plain", 2);
        }
    }

    @Door.Any
    void readsHeadsAndTrailersOverHttp2(Door door) throws IOException {
        http2.behave(stream -> stream.begin(head().set(FIELD, "40"), true));
        assertThat(get(door, "http2", "item").header(FIELD)).isNull();
        assertStated("http2", 40);

        http2.behave(stream -> {
            stream.begin(head(), false);
            stream.begin(new DefaultHttp2Headers().set(FIELD, "41").set("checked", "yes"), true);
        });
        assertThat(get(door, "http2", "item", "TE: trailers").trailers())
                .containsKey("checked")
                .doesNotContainKey(FIELD);
        assertStated("http2", 41);
    }

    private static Http2Headers head() {
        return new DefaultHttp2Headers().status("200");
    }

    @Test
    void readsTheAnswersToHealthChecks() {
        says(servers.getLast(), "50");
        await().atMost(PATIENCE).untilAsserted(() -> assertStated("checked", 50));
    }

    @Door.Any
    void addsUpWhatTheInstancesThatTakeCallsState(Door door) throws IOException {
        says(servers.get(1), "30");
        says(servers.get(2), "5");
        List<Instance> pair = gateway.backend("pair").instances().all();
        while (pair.stream().anyMatch(one -> !one.capacity().hasStated())) {
            get(door, "pair", "item");
        }
        assertStated("pair", 35);

        pair.getFirst().health().operator().drain();
        assertStated("pair", 5);
        pair.getFirst().health().operator().restore();
        await().atMost(PATIENCE).untilAsserted(() -> {
            get(door, "pair", "item");
            assertStated("pair", 35);
        });
    }

    @Door.Any
    void comesAndGoesWithReloads(Door door) throws IOException {
        says(servers.getFirst(), "34");
        get(door, "plain", "item");
        assertStated("plain", 34);
        String file = Files.readString(gateway.file());

        reload(file.replace(SIGNAL, "fairness: {}"));
        assertThat(get(door, "plain", "item").header(FIELD)).isEqualTo("34");
        assertThat(limit("plain").binding()).isEqualTo(Binding.AUTO);

        reload(file.replace("deadline: 20s", "deadline: 21s"));
        says(servers.getFirst(), "35");
        assertThat(get(door, "plain", "item").header(FIELD)).isNull();
        assertStated("plain", 35);
        reload(file);
        assertStated("plain", 35);
    }

    private static void reload(String yaml) {
        gateway.rewrite(yaml);
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }
}
