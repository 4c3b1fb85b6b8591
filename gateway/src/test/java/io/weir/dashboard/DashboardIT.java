package io.weir.dashboard;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.netflix.hystrix.HystrixCommand;
import com.netflix.hystrix.HystrixCommandGroupKey;
import com.netflix.hystrix.contrib.metrics.eventstream.HystrixMetricsPoller;
import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.BufferedReader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The dashboard's page and streams on the management port. */
@Timeout(60)
class DashboardIT {

    private static final String TOKEN = "0123456789abcdef0123";

    private static TestBackend backend;
    private static TestGateway gateway;
    private static TestGateway guarded;
    /** Its backend fails, hangs or answers, depending on the end of the path. */
    private static TestGateway counted;

    private static TestBackend mixed;
    private static final HeldCalls held = new HeldCalls();
    private static final HttpClient CLIENT =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("reload: { watch: false }")
                .backend("orders", backend.uri(), "bulkhead: { max-concurrent-calls: 7 }")
                .route("orders", "orders")
                .start();
        guarded = TestGateway.setup()
                .weir("management: { token: " + TOKEN + " }")
                .backend("orders", backend.uri())
                .route("orders", "orders")
                .start();
    }

    @BeforeAll
    static void startCounted() {
        mixed = TestBackend.start((request, conversation) -> {
            switch (request.target().replaceFirst(".*/", "")) {
                case "fails" -> conversation.answer(500, "");
                case "hangs" -> held.serve(request, conversation);
                default -> TestBackend.ECHO.serve(request, conversation);
            }
        });
        counted = TestGateway.setup()
                .backend(
                        "orders",
                        mixed.uri(),
                        "deadline: 60s",
                        "bulkhead: { max-concurrent-calls: 2, queue-capacity: 1, max-wait-duration: 20s }",
                        "circuit-breaker: { minimum-number-of-calls: 100, sliding-window-size: 100, failure-rate-threshold: 60 }",
                        "recovery: { probe-interval: 300ms }")
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void waitForTheStreamsToEnd() {
        await().untilAsserted(
                        () -> assertThat(gateway.bean(LiveFeed.class).clients()).isZero());
    }

    @AfterAll
    static void stop() {
        held.release();
        counted.close();
        mixed.close();
        guarded.close();
        gateway.close();
        backend.close();
    }

    /** A client of a stream. */
    private static final class Stream implements AutoCloseable {

        private final HttpResponse<InputStream> response;
        private final BufferedReader lines;

        Stream(int port, String path, String... headers) throws Exception {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
            if (headers.length > 0) {
                request.headers(headers);
            }
            this.response = CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
            InputStream body =
                    response.headers().firstValue("content-encoding").orElse("").equals("gzip")
                            ? new GZIPInputStream(response.body(), 64)
                            : response.body();
            this.lines = new BufferedReader(new InputStreamReader(new Unbuffered(body), StandardCharsets.UTF_8));
        }

        /**
         * Reports no available bytes, so that a reader does not wait for more: a GZIP stream always reports
         * some.
         */
        private static final class Unbuffered extends FilterInputStream {

            Unbuffered(InputStream in) {
                super(in);
            }

            @Override
            public int available() {
                return 0;
            }
        }

        /** The name and data of the next event. */
        Map.Entry<String, JsonNode> next() throws IOException {
            String name = "";
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("event: ")) {
                    name = line.substring("event: ".length());
                } else if (line.startsWith("data: ")) {
                    return Map.entry(name, JsonMapper.shared().readTree(line.substring("data: ".length())));
                }
            }
            return Map.entry("end", JsonMapper.shared().createObjectNode());
        }

        @Override
        public void close() throws IOException {
            response.body().close();
        }
    }

    private static JsonNode find(JsonNode view, String name) {
        return view.path("backends")
                .valueStream()
                .filter(backend -> backend.path("name").asString().equals(name))
                .findFirst()
                .orElseThrow();
    }

    // ---------------------------------------------------------------- the stream

    @Test
    void sendsTheFullStateFirstAndThenASnapshotEachSecond() throws Exception {
        try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(stream.response.headers().firstValue("content-type"))
                    .hasValueSatisfying(type -> assertThat(type).startsWith("text/event-stream"));
            assertThat(stream.response.headers().firstValue("cache-control")).hasValue("no-store, no-transform");
            Map.Entry<String, JsonNode> first = stream.next();
            assertThat(first.getKey()).isEqualTo("full");
            assertThat(first.getValue().at("/vocabulary/circuit-open").asString())
                    .isEqualTo("shed");
            for (String figure : List.of("ended", "trouble", "limit", "active", "limitChange")) {
                assertThat(first.getValue().at("/history/orders/" + figure).size())
                        .as(figure)
                        .isEqualTo(120);
            }
            assertThat(first.getValue().at("/history/orders/limit/119").asInt()).isEqualTo(7);
            assertThat(find(first.getValue(), "orders").at("/now/calls/limit").asInt())
                    .isEqualTo(7);
            Map.Entry<String, JsonNode> second = stream.next();
            assertThat(second.getKey()).isEqualTo("snapshot");
            assertThat(second.getValue().has("vocabulary")).isFalse();
            assertThat(second.getValue().path("startedAt"))
                    .isEqualTo(first.getValue().path("startedAt"));
        }
    }

    @Test
    void countsRequestsOfBothDoorsByOutcome() throws Exception {
        try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream", "Accept-Encoding", "gzip")) {
            long before = find(stream.next().getValue(), "orders")
                    .at("/recent/outcomes/2xx")
                    .asLong();
            for (Door door : Door.values()) {
                assertThat(TestCaller.get(gateway.port(), door.path("orders", "live"))
                                .status())
                        .isEqualTo(200);
            }
            JsonNode recent;
            do {
                recent = find(stream.next().getValue(), "orders").path("recent");
            } while (recent.at("/outcomes/2xx").asLong() < before + 2);
            assertThat(recent.at("/troubleShare").asDouble()).isZero();
            assertThat(recent.at("/times/p50Ms").asDouble()).isPositive();
            assertThat(recent.at("/times/p995Ms").asDouble())
                    .isGreaterThanOrEqualTo(recent.at("/times/p50Ms").asDouble());
            assertThat(recent.at("/budgetLeftMs").asDouble()).isBetween(0.001, 2_000.0);
        }
    }

    @Test
    void showsAnOperatorsChangesToOtherClients() throws Exception {
        try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(post(gateway, "{\"breaker\":\"open\"}")).isEqualTo(200);
            JsonNode newest = awaitEvent(stream, "breaker-forced");
            assertThat(newest.path("backend").asString()).isEqualTo("orders");
            assertThat(newest.path("by").asString()).startsWith("127.0.0.1:");

            assertThat(post(gateway, "{\"breaker\":\"released\"}")).isEqualTo(200);
            awaitEvent(stream, "breaker-released");

            assertThat(post(gateway, "{\"max-concurrent-calls\":9}")).isEqualTo(200);
            JsonNode changed = awaitEvent(stream, "limit-changed");
            assertThat(changed.path("backend").asString()).isEqualTo("orders");
            assertThat(changed.path("text").asString()).contains("max-concurrent-calls: 7 -> 9");
            assertThat(find(stream.next().getValue(), "orders")
                            .at("/now/limit/binds")
                            .asString())
                    .isEqualTo("operator");
            assertThat(post(gateway, "{\"max-concurrent-calls\":\"auto\"}")).isEqualTo(200);
            stream.next();
            assertThat(find(stream.next().getValue(), "orders")
                            .at("/now/limit/binds")
                            .asString())
                    .isEqualTo("auto");
            assertThat(reload().problems()).isEmpty();
            stream.next();
            assertThat(find(stream.next().getValue(), "orders")
                            .at("/now/limit/binds")
                            .asString())
                    .as("a reload keeps it")
                    .isEqualTo("auto");
            assertThat(post(gateway, "{\"limits\":\"released\"}")).isEqualTo(200);
            stream.next();
            assertThat(find(stream.next().getValue(), "orders")
                            .at("/now/limit/binds")
                            .asString())
                    .isEqualTo("fixed");
        }
        try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream")) {
            assertThat(stream.next()
                            .getValue()
                            .at("/history/orders/limitChange")
                            .valueStream()
                            .map(JsonNode::asString)
                            .filter(word -> !word.isEmpty()))
                    .containsSubsequence("operator", "operator-ended", "configuration");
        }
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void showsEveryProblemOfARefusedFileUntilAValidOneIsApplied() throws Exception {
        String valid = Files.readString(gateway.file());
        try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream")) {
            JsonNode first = stream.next().getValue();
            assertThat(first.has("refused")).isTrue();
            assertThat(first.path("refused").isNull()).isTrue();

            gateway.rewrite(valid.replace(
                    "max-concurrent-calls: 7",
                    "max-concurrent-calls: 0, queue-capacity: -1, max-wait-duration: soon, scope: town, colour: blue"));
            ConfigurationChange change = reload();
            assertThat(change.problems()).hasSize(5);
            JsonNode refused;
            do {
                refused = stream.next().getValue().path("refused");
            } while (refused.isNull());
            assertThat(refused.path("at").asLong()).isEqualTo(change.at().toEpochMilli());
            assertThat(refused.path("by").asString()).isEqualTo("an operator");
            assertThat(refused.path("problems").valueStream().map(JsonNode::asString))
                    .containsExactlyElementsOf(change.problems());
        } finally {
            gateway.rewrite(valid);
            assertThat(reload().problems()).isEmpty();
        }
        // The first event of a new client no longer has it, at most a second later.
        await().until(() -> {
            try (Stream stream = new Stream(gateway.managementPort(), "/actuator/weirstream")) {
                return stream.next().getValue().path("refused").isNull();
            }
        });
    }

    private static ConfigurationChange reload() {
        return gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "an operator");
    }

    private static JsonNode awaitEvent(Stream stream, String kind) throws IOException {
        for (int i = 0; i < 20; i++) {
            for (JsonNode each : stream.next().getValue().path("happenings")) {
                if (each.path("kind").asString().equals(kind)) {
                    return each;
                }
            }
        }
        throw new AssertionError("no " + kind + " in 20 snapshots");
    }

    // ---------------------------------------------------------------- access

    @Test
    void servesThePageWithoutAndTheDataOnlyWithTheToken() throws Exception {
        List<String> paths = new ArrayList<>(List.of("/dashboard", "/dashboard/dashboard.css"));
        DashboardConfiguration.SCRIPTS.forEach(script -> paths.add("/dashboard/" + script));
        for (String path : paths) {
            TestCaller.Answer page = TestCaller.get(guarded.managementPort(), path);
            assertThat(page.status()).as(path).isEqualTo(200);
            assertThat(page.header("content-security-policy")).startsWith("default-src 'none'; script-src 'self'");
            assertThat(page.header("x-content-type-options")).isEqualTo("nosniff");
            assertThat(page.text()).doesNotContain("{{").doesNotContainPattern("https?://(?!www\\.w3\\.org/2000/svg)");
        }
        for (String path : List.of("/actuator/weirstream", "/hystrix.stream", "/dashboard/", "/dashboard/x")) {
            assertThat(TestCaller.get(guarded.managementPort(), path).status())
                    .as(path)
                    .isEqualTo(401);
        }
        try (Stream stream =
                new Stream(guarded.managementPort(), "/actuator/weirstream", "Authorization", "Bearer " + TOKEN)) {
            assertThat(stream.next().getKey()).isEqualTo("full");
        }
        assertThat(TestCaller.get(gateway.port(), "/dashboard").status()).isEqualTo(404);
    }

    @Test
    void rejectsChangesFromAnotherOrigin() throws Exception {
        String own = "http://127.0.0.1:" + gateway.managementPort();
        assertThat(post(gateway, "{\"breaker\":\"open\"}", "Origin", "http://evil.example"))
                .isEqualTo(403);
        assertThat(post(gateway, "{\"breaker\":\"open\"}", "Origin", own, "Sec-Fetch-Site", "cross-site"))
                .isEqualTo(403);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(State.CLOSED);
        assertThat(post(
                        guarded,
                        "{\"breaker\":\"open\"}",
                        "Origin",
                        "http://evil.example",
                        "Authorization",
                        "Bearer " + TOKEN))
                .isEqualTo(403);
        assertThat(guarded.backend("orders").health().state()).isEqualTo(State.CLOSED);

        assertThat(post(gateway, "{\"breaker\":\"released\"}", "Origin", own, "Sec-Fetch-Site", "same-origin"))
                .isEqualTo(200);
    }

    private static int post(TestGateway to, String body, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(
                        URI.create("http://127.0.0.1:" + to.managementPort() + "/actuator/weir/orders"))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return CLIENT.send(request.build(), HttpResponse.BodyHandlers.discarding())
                .statusCode();
    }

    // ---------------------------------------------------------------- Hystrix's format

    /** A real Hystrix command, for Hystrix's own poller. */
    private static final class RealCommand extends HystrixCommand<String> {

        RealCommand() {
            super(HystrixCommandGroupKey.Factory.asKey("real"));
        }

        @Override
        protected String run() {
            return "done";
        }
    }

    @Test
    @SuppressWarnings(
            "deprecation") // Hystrix wrote /hystrix.stream with it, and deprecated it in favour of RxJava streams.
    void sendsTheFieldsAndTypesOfHystrix() throws Exception {
        List<JsonNode> seen = new CopyOnWriteArrayList<>();
        HystrixMetricsPoller poller =
                new HystrixMetricsPoller(json -> seen.add(JsonMapper.shared().readTree(json)), 50);
        assertThat(new RealCommand().execute()).isEqualTo("done");
        poller.start();
        try (Stream stream = new Stream(gateway.managementPort(), "/hystrix.stream")) {
            for (String type : List.of("HystrixCommand", "HystrixThreadPool")) {
                await().until(() -> seen.stream().anyMatch(event -> hasType(event, type)));
                JsonNode theirs = seen.stream()
                        .filter(event -> hasType(event, type))
                        .findFirst()
                        .orElseThrow();
                JsonNode ours = stream.next().getValue();
                while (!hasType(ours, type)) {
                    ours = stream.next().getValue();
                }
                assertThat(types("", ours)).isEqualTo(types("", theirs));
            }
        } finally {
            poller.shutdown();
        }
    }

    /**
     * Calls that are served, fail, time out, are malformed, or are refused by the bulkhead and the breaker.
     */
    @Test
    void countsOutcomesInHystrixsCategories() throws Exception {
        try (Stream stream = new Stream(counted.managementPort(), "/hystrix.stream")) {
            for (int i = 0; i < 5; i++) {
                assertThat(ask(counted, i % 2 == 0 ? Door.COMPILED : Door.GENERAL, "served")
                                .status())
                        .isEqualTo(200);
            }
            for (int i = 0; i < 3; i++) {
                assertThat(ask(counted, Door.COMPILED, "fails").status()).isEqualTo(500);
            }
            assertThat(ask(counted, Door.COMPILED, "hangs", "X-Request-Timeout: 150ms")
                            .reason())
                    .isEqualTo("deadline-exceeded");
            assertThat(ask(counted, Door.COMPILED, "served", "X-Request-Timeout: soon")
                            .reason())
                    .isEqualTo("bad-request");
            List<CompletableFuture<TestCaller.Answer>> answers = IntStream.range(0, 3)
                    .mapToObj(i -> TestCaller.ask(counted.port(), Door.COMPILED.path("orders", "hangs")))
                    .toList();
            await().until(() -> counted.backend("orders").bulkhead().queued() == 1);
            for (int i = 0; i < 4; i++) {
                assertThat(ask(counted, Door.COMPILED, "served").reason()).isEqualTo("bulkhead-full");
            }
            assertThat(post(counted, "{\"breaker\":\"open\"}")).isEqualTo(200);
            for (int i = 0; i < 2; i++) {
                assertThat(ask(counted, Door.COMPILED, "served").reason()).isEqualTo("circuit-open");
            }

            awaitFields(
                    stream,
                    "HystrixCommand",
                    Map.ofEntries(
                            Map.entry("group", "weir"),
                            Map.entry("threadPool", "orders"),
                            Map.entry("reportingHosts", 1),
                            Map.entry("isCircuitBreakerOpen", true),
                            // Hystrix does not count malformed requests as requests.
                            Map.entry("requestCount", 15),
                            Map.entry("errorCount", 10),
                            Map.entry("errorPercentage", 66),
                            Map.entry("rollingCountSuccess", 5),
                            Map.entry("rollingCountFailure", 3),
                            Map.entry("rollingCountTimeout", 1),
                            Map.entry("rollingCountBadRequests", 1),
                            Map.entry("rollingCountThreadPoolRejected", 4),
                            Map.entry("rollingCountSemaphoreRejected", 0),
                            Map.entry("rollingCountShortCircuited", 2),
                            Map.entry("rollingCountExceptionsThrown", 10),
                            Map.entry("rollingCountFallbackSuccess", 0),
                            Map.entry("currentConcurrentExecutionCount", 2),
                            Map.entry("rollingMaxConcurrentExecutionCount", 2),
                            Map.entry("propertyValue_circuitBreakerForceOpen", true),
                            Map.entry("propertyValue_circuitBreakerForceClosed", false),
                            Map.entry("propertyValue_circuitBreakerRequestVolumeThreshold", 100),
                            Map.entry("propertyValue_circuitBreakerErrorThresholdPercentage", 60),
                            Map.entry("propertyValue_circuitBreakerSleepWindowInMilliseconds", 300),
                            Map.entry("propertyValue_executionTimeoutInMilliseconds", 60_000),
                            Map.entry("propertyValue_metricsRollingStatisticalWindowInMilliseconds", 10_000)));
            awaitFields(
                    stream,
                    "HystrixThreadPool",
                    Map.ofEntries(
                            Map.entry("reportingHosts", 1),
                            Map.entry("currentActiveCount", 2),
                            Map.entry("currentCorePoolSize", 2),
                            Map.entry("currentMaximumPoolSize", 2),
                            Map.entry("currentPoolSize", 2),
                            Map.entry("currentLargestPoolSize", 2),
                            Map.entry("currentQueueSize", 1),
                            // Five calls were served, three failed, one timed out.
                            Map.entry("currentCompletedTaskCount", 9),
                            Map.entry("currentTaskCount", 12),
                            Map.entry("rollingCountThreadsExecuted", 9),
                            Map.entry("rollingMaxActiveThreads", 2),
                            Map.entry("rollingCountCommandRejections", 4),
                            Map.entry("propertyValue_queueSizeRejectionThreshold", 1),
                            Map.entry("propertyValue_metricsRollingStatisticalWindowInMilliseconds", 10_000)));

            assertThat(post(counted, "{\"breaker\":\"released\"}")).isEqualTo(200);
            held.release();
            answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
            awaitFields(
                    stream,
                    "HystrixCommand",
                    Map.of(
                            "isCircuitBreakerOpen",
                            false,
                            "propertyValue_circuitBreakerForceOpen",
                            false,
                            "currentConcurrentExecutionCount",
                            0));
            awaitFields(
                    stream,
                    "HystrixThreadPool",
                    Map.of("currentActiveCount", 0, "currentQueueSize", 0, "currentCompletedTaskCount", 12));
        }
    }

    private static TestCaller.Answer ask(TestGateway of, Door door, String rest, String... fields) throws IOException {
        return TestCaller.get(of.port(), door.path("orders", rest), fields);
    }

    /** Waits for an event of backend {@code orders} with these values. */
    private static void awaitFields(Stream stream, String type, Map<String, Object> expected) throws IOException {
        Map<String, Object> seen = Map.of();
        for (int i = 0; i < 60 && !seen.equals(expected); i++) {
            JsonNode event = stream.next().getValue();
            if (hasType(event, type) && event.path("name").asString().equals("orders")) {
                seen = new TreeMap<>();
                for (String field : expected.keySet()) {
                    seen.put(field, JsonMapper.shared().treeToValue(event.path(field), Object.class));
                }
            }
        }
        assertThat(seen).isEqualTo(expected);
    }

    private static boolean hasType(JsonNode event, String type) {
        return event.path("type").asString().equals(type);
    }

    /** The type of each field, by the field's path. */
    private static Map<String, String> types(String path, JsonNode node) {
        Map<String, String> types = new TreeMap<>();
        node.forEachEntry((name, value) -> {
            if (value.isObject()) {
                types.putAll(types(path + name + '/', value));
            } else {
                types.put(
                        path + name,
                        value.isIntegralNumber()
                                ? "integer"
                                : value.getNodeType().name());
            }
        });
        return types;
    }
}
