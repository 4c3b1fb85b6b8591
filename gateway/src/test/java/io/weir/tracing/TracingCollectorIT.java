package io.weir.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A failing collector costs no request, and lost spans are counted. */
class TracingCollectorIT {

    private static TestBackend backend;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
    }

    @AfterAll
    static void stop() {
        backend.close();
    }

    @Test
    void servesRequestsWhileTheCollectorHangs() throws Exception {
        try (TestCollector hanging = TestCollector.hanging();
                TestGateway served = exporting(hanging.endpoint(), "1m")) {
            // Two spans each: more than the queue of 512 and an export under way of 512 can hold.
            sendRequests(served, 600);

            await().untilAsserted(() -> assertThat(spans(served, "dropped")).isPositive());
            assertThat(spans(served, "exported")).isZero();
        }
    }

    @Test
    void servesRequestsWithoutACollector() throws Exception {
        try (UnwillingPort refusing = UnwillingPort.refusing();
                TestGateway served = exporting(refusing.uri() + "/v1/traces", "100ms")) {
            sendRequests(served, 20);

            await().untilAsserted(() -> assertThat(spans(served, "failed")).isEqualTo(40));
            assertThat(spans(served, "exported")).isZero();
        }
    }

    @Test
    void countsSpansThatTheCollectorAccepted() throws Exception {
        try (TestCollector taking = TestCollector.start();
                TestGateway served = exporting(taking.endpoint(), "10s")) {
            sendRequests(served, 20);

            await().untilAsserted(() -> assertThat(spans(served, "exported")).isEqualTo(40));
            assertThat(taking.spans()).hasSize(40);
            assertThat(spans(served, "dropped")).isZero();
            assertThat(spans(served, "failed")).isZero();
        }
    }

    private static TestGateway exporting(String endpoint, String timeout) {
        return TestGateway.setup()
                .weir("tracing: { enabled: true, endpoint: \"" + endpoint
                        + "\", sampling-ratio: 1, queue-capacity: 512, export-interval: 10ms, export-timeout: "
                        + timeout + " }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("orders", "orders")
                .start();
    }

    private static void sendRequests(TestGateway served, int requests) throws IOException {
        try (TestCaller asking = TestCaller.to(served.port())) {
            for (int i = 0; i < requests; i++) {
                Door door = i % 2 == 0 ? Door.COMPILED : Door.GENERAL;
                assertThat(asking.request("GET", door.path("orders", "1")).status())
                        .isEqualTo(200);
            }
        }
    }

    private static long spans(TestGateway served, String result) {
        return (long) served.bean(MeterRegistry.class)
                .get("weir.spans")
                .tag("result", result)
                .functionCounter()
                .count();
    }
}
