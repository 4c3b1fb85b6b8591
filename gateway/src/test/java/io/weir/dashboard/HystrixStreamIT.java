package io.weir.dashboard;

import static io.weir.dashboard.TestDashboard.post;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.netflix.hystrix.HystrixCommand;
import com.netflix.hystrix.HystrixCommandGroupKey;
import com.netflix.hystrix.contrib.metrics.eventstream.HystrixMetricsPoller;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The stream in Hystrix's format. */
class HystrixStreamIT {

    /** Its backend fails, hangs or answers, depending on the end of the path. */
    private static TestGateway counted;

    private static TestBackend mixed;
    private static final HeldCalls held = new HeldCalls();

    @BeforeAll
    static void start() {
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
                .withoutPauses()
                .start();
    }

    @AfterEach
    void waitForTheStreamsToEnd() {
        await().untilAsserted(
                        () -> assertThat(counted.bean(LiveFeed.class).clients()).isZero());
    }

    @AfterAll
    static void stop() {
        held.release();
        counted.close();
        mixed.close();
    }

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
        try (TestStream stream = new TestStream(counted.managementPort(), "/hystrix.stream")) {
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
        try (TestStream stream = new TestStream(counted.managementPort(), "/hystrix.stream")) {
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
    private static void awaitFields(TestStream stream, String type, Map<String, Object> expected) throws IOException {
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
