package io.weir.overload;

import static io.weir.testing.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.channel.EventLoop;
import io.weir.engine.Engine;
import io.weir.outcome.Reason;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.springframework.http.client.ReactorResourceFactory;
import tools.jackson.databind.JsonNode;

/** The gateway's own overload: new requests are refused, requests in flight continue. */
@Timeout(60)
class OverloadIT extends GatewayTests {

    private static final int MAX_IN_FLIGHT = 20;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("overload: { max-in-flight: 20, max-event-loop-delay: 1s }")
                .backend("orders", backend.uri(), "deadline: 60s", "bulkhead: { max-concurrent-calls: 16 }")
                .backend("others", backend.uri(), "deadline: 60s")
                .route("orders", "orders")
                .route("others", "others", "fallback: { body: prepared }")
                .start();
    }

    @Door.Each
    void refusesRequestsAboveTheLimitInFlight(Door door) throws Exception {
        List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < MAX_IN_FLIGHT; i++) {
            answers.add(TestCaller.ask(gateway.port(), door.path("others", "fills" + i)));
        }
        await().until(() -> calls.inside() == MAX_IN_FLIGHT);
        String path = door.path("orders", "too-much");

        TestCaller.Answer refused = TestCaller.get(gateway.port(), path);

        JsonNode line = assertRefused(gateway, door, "orders", path, refused, Reason.GATEWAY_OVERLOADED);
        assertThat(line.path("attempts").asInt()).isZero();
        assertThat(gateway.bean(Engine.class).inFlight()).isEqualTo(MAX_IN_FLIGHT);
        // No fallback applies: the gateway itself is overloaded, not the backend.
        String prepared = door.path("others", "too-much");
        assertRefused(
                gateway, door, "others", prepared, TestCaller.get(gateway.port(), prepared), Reason.GATEWAY_OVERLOADED);
        assertThat(calls.calls()).isEqualTo(MAX_IN_FLIGHT);

        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        gateway.assertNothingHeld();
        assertThat(TestCaller.get(gateway.port(), path + "-after").status()).isEqualTo(200);
        gateway.assertFed("orders", 1, 0, 0);
    }

    @Door.Each
    void refusesWhileAnEventLoopIsStuckAndServesAgainAfterwards(Door door) throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        String path = door.path("orders", "late");
        // Connect first: the stuck loop may be the accepting one.
        List<TestCaller> callers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            caller.request("GET", door.path("orders", "connects"));
            callers.add(caller);
        }
        CountDownLatch stuck = new CountDownLatch(1);
        EventLoop loop = gateway.bean(ReactorResourceFactory.class)
                .getLoopResources()
                .onServer(true)
                .next();
        loop.execute(() -> {
            try {
                stuck.await(TestGateway.PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        try {
            await().until(() -> guard.isOverloaded(0));
            assertThat(guard.loopDelayNanos()).isGreaterThan(TimeUnit.SECONDS.toNanos(1));
            // Connections on other loops get the refusal; connections on the stuck loop wait.
            List<CompletableFuture<TestCaller.Answer>> answers =
                    callers.stream().map(caller -> ask(caller, path)).toList();
            await().until(() -> answers.stream().anyMatch(CompletableFuture::isDone));
            assertRefused(
                    answers.stream()
                            .filter(CompletableFuture::isDone)
                            .findFirst()
                            .orElseThrow()
                            .join(),
                    Reason.GATEWAY_OVERLOADED);
        } finally {
            stuck.countDown();
        }
        await().until(() -> !guard.isOverloaded(0));
        for (TestCaller caller : callers) {
            caller.close();
        }
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "in-time"))
                        .status())
                .isEqualTo(200);
        gateway.assertMetered(door.id("orders"), "gateway-overloaded");
    }

    @Door.Each
    void refusesWhileMemoryIsAboveTheLimit(Door door) throws Exception {
        calls.release();
        OverloadGuard guard = gateway.bean(OverloadGuard.class);
        String path = door.path("orders", "short-of-memory");
        AtomicReference<TestCaller.Answer> last = new AtomicReference<>();
        await().until(() -> {
            // The sampler overwrites this sample within 100 ms.
            guard.observe(0, 91);
            last.set(TestCaller.get(gateway.port(), path));
            return last.get().status() == 503;
        });

        assertRefused(last.get(), Reason.GATEWAY_OVERLOADED);
        await().until(() -> !guard.isOverloaded(0));
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "enough-memory"))
                        .status())
                .isEqualTo(200);
        gateway.assertMetered(door.id("orders"), "gateway-overloaded");
    }

    private static CompletableFuture<TestCaller.Answer> ask(TestCaller caller, String path) {
        CompletableFuture<TestCaller.Answer> answer = new CompletableFuture<>();
        Thread.ofVirtual().start(() -> {
            try {
                answer.complete(caller.request("GET", path));
            } catch (IOException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        return answer;
    }
}
