package io.weir.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A backend that asks to be left alone for some seconds gets no probe before, and is back soon after. */
@Tag("full")
class PushbackIT extends OneBackendTests {

    private static final String WINDOW = "circuit-breaker: { minimum-number-of-calls: 4, sliding-window-size: 10 }";
    private static final long ASKED_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** The address of the caller that is over its quota. */
    private static final String OVER_QUOTA = "127.0.0.2";

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .withoutPauses()
                .backend("orders", backend.uri(), "deadline: 2s", WINDOW, "recovery: { probe-interval: 100ms }")
                .backend("deaf", backend.uri(), "deadline: 2s", WINDOW, "recovery: { max-pushback: 0s }")
                .backend("quotas", backend.uri(), "deadline: 2s", "retry-budget: { share: 100, floor: 100 }")
                .route("orders", "orders")
                .route("deaf", "deaf")
                .route("quotas", "quotas", "retry: { max-attempts: 2, backoff: 0s }")
                .start();
    }

    private static TestBackend.Behaviour overloaded(AtomicLong lastRefusedAt) {
        return (request, conversation) -> {
            lastRefusedAt.set(System.nanoTime());
            conversation.write("HTTP/1.1 503 X\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n");
        };
    }

    /** Overloads the backend until its breaker opens; from then on it is healthy. */
    private static long openAndHeal(String name) throws IOException {
        AtomicLong lastRefusedAt = new AtomicLong();
        backend.behave(overloaded(lastRefusedAt));
        Health health = gateway.backend(name).health();
        while (health.state() != State.OPEN) {
            TestCaller.get(gateway.port(), Door.COMPILED.path(name, "overload"));
        }
        backend.behave((request, conversation) -> conversation.answer(200, "healed"));
        return lastRefusedAt.get();
    }

    private static double leftAlone(String name) {
        return gateway.bean(MeterRegistry.class)
                .get("weir.pushback.instances")
                .tag("backend", name)
                .gauge()
                .value();
    }

    private static void callUntilAnswered(String name) {
        await().atMost(TestGateway.PATIENCE)
                .pollInterval(20, TimeUnit.MILLISECONDS)
                .until(() -> TestCaller.get(gateway.port(), Door.COMPILED.path(name, "healed"))
                                .status()
                        == 200);
    }

    @Test
    void getsNoProbeBeforeAndIsBackAfterwards() throws IOException {
        long refusedAt = openAndHeal("orders");
        int requests = backend.requests();
        AtomicLong probedAt = new AtomicLong();
        backend.behave((request, conversation) -> {
            probedAt.compareAndSet(0, System.nanoTime());
            conversation.answer(200, "healed");
        });
        TestCaller.Answer refused = TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "refused"));
        assertThat(Integer.parseInt(String.valueOf(refused.header("retry-after"))))
                .as("callers read it, too, with up to half of it more")
                .isBetween(4, 9);
        assertThat(leftAlone("orders")).isEqualTo(1);

        callUntilAnswered("orders");

        assertThat(backend.requests()).isGreaterThan(requests);
        assertThat(probedAt.get() - refusedAt).isGreaterThanOrEqualTo(ASKED_NANOS);
        assertThat(leftAlone("orders")).isZero();
    }

    @Test
    void isProbedAtOnceIfItIsOff() throws IOException {
        long refusedAt = openAndHeal("deaf");

        callUntilAnswered("deaf");

        assertThat(System.nanoTime() - refusedAt).isLessThan(ASKED_NANOS);
    }

    @Test
    void aQuotaHoldsNobodyElseBack() throws IOException {
        AtomicInteger others = new AtomicInteger();
        backend.behave((request, conversation) -> {
            if (request.target().contains("greedy")) {
                conversation.write("HTTP/1.1 429 X\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n");
            } else {
                // Each first attempt fails, so that each call needs its retry.
                conversation.answer(others.getAndIncrement() % 2 == 0 ? 503 : 200, "");
            }
        });
        for (int i = 0; i < 50; i++) {
            try (TestCaller greedy = TestCaller.from(OVER_QUOTA, gateway.port())) {
                assertThat(greedy.request("GET", Door.COMPILED.path("quotas", "greedy"))
                                .status())
                        .isEqualTo(429);
            }
            assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path("quotas", "other"))
                            .status())
                    .isEqualTo(200);
        }
        assertThat(leftAlone("quotas")).isZero();
    }
}
