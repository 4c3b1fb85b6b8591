package io.weir.lastgood;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.Tier;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * In random orders, callers leave, deadlines pass, the backend answers in every way, the configuration is
 * reloaded, and an operator empties the store. Each complete answer belongs to its request, and at the end
 * nothing is held.
 */
@Tag("full")
class LastGoodStormIT {

    private static final int CALLERS = 12;
    private static final int KEYS = 10;

    private final CountDownLatch released = new CountDownLatch(1);
    private final AtomicInteger stale = new AtomicInteger();
    private final AtomicInteger fresh = new AtomicInteger();

    @Test
    void everyAnswerBelongsToItsRequestAndNothingIsHeld() throws Exception {
        try (TestBackend backend = TestBackend.start(this::serve);
                TestGateway gateway = TestGateway.start(yaml(backend, "10m"))) {
            List<Thread> callers = new ArrayList<>();
            List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
            for (int i = 0; i < CALLERS; i++) {
                Random random = new Random(i);
                callers.add(Thread.ofVirtual().start(() -> {
                    try {
                        for (int call = 0; call < Tier.choose(100, 300); call++) {
                            call(gateway, random);
                        }
                    } catch (IOException | RuntimeException | AssertionError e) {
                        failures.add(e);
                    }
                }));
            }
            LastGoodStore store = gateway.bean(LastGoodStore.class);
            for (int i = 0; callers.stream().anyMatch(Thread::isAlive); i++) {
                gateway.rewrite(yaml(backend, i % 2 == 0 ? "9m" : "10m", i % 3 == 0 ? "x-key" : "x-other"));
                assertThat(gateway.bean(LiveConfiguration.class)
                                .reload(Trigger.REQUEST, "a test")
                                .problems())
                        .isEmpty();
                if (i % 5 == 0) {
                    store.empty(null);
                }
                for (Thread caller : callers) {
                    caller.join(TimeUnit.MILLISECONDS.toMillis(20));
                }
            }
            released.countDown();
            assertThat(failures).isEmpty();
            gateway.assertNothingHeld();
            await().atMost(TestGateway.PATIENCE).until(() -> store.recordingBytes() == 0);
            assertThat(stale.get()).as("last good answers").isPositive();
            assertThat(fresh.get()).as("fresh answers").isPositive();
        }
    }

    private void call(TestGateway gateway, Random random) throws IOException {
        Door door = random.nextBoolean() ? Door.COMPILED : Door.GENERAL;
        String path = door.path("orders", String.valueOf(random.nextInt(KEYS)));
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            int way = random.nextInt(10);
            if (way == 0) {
                caller.reset();
                return;
            }
            if (way == 1) {
                caller.readHead();
                caller.reset();
                return;
            }
            TestCaller.Answer answer = caller.answer();
            if (answer.status() == 200) {
                assertThat(answer.text()).isEqualTo(body(path));
                (answer.header("cache-status") == null ? fresh : stale).incrementAndGet();
            }
        } catch (EOFException | SocketException e) {
            // An answer that the backend has broken off, or whose deadline has passed.
        }
    }

    /** From 12 bytes, which are aggregated, to 120 KB, which are not kept. */
    private static String body(String path) {
        int key = path.charAt(path.length() - 1) - '0';
        return (path + '\n').repeat(1 << key + 3);
    }

    private void serve(TestBackend.Request request, TestBackend.Conversation conversation)
            throws IOException, InterruptedException {
        String body = body(request.target());
        int half = body.length() / 2;
        String head = "HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n\r\n";
        switch (ThreadLocalRandom.current().nextInt(10)) {
            case 0 -> conversation.reset();
            case 1 -> conversation.answer(503, "its own error");
            case 2 -> {
                conversation.write(head + body.substring(0, half));
                conversation.reset();
            }
            case 3 -> {
                conversation.write(head + body.substring(0, half));
                released.await();
            }
            case 4 -> released.await();
            case 5 ->
                conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + Integer.toHexString(half) + "\r\n" + body.substring(0, half) + "\r\n"
                        + Integer.toHexString(body.length() - half) + "\r\n" + body.substring(half) + "\r\n0\r\n\r\n");
            default -> conversation.write(head + body);
        }
    }

    private static String yaml(TestBackend backend, String maxAge, String... keyHeaders) {
        String lastGood =
                "last-good: { max-age: " + maxAge + ", key-headers: [" + String.join(", ", keyHeaders) + "] }";
        return """
                weir:
                  backends:
                    orders: { uri: "%1$s", deadline: 150ms, bulkhead: { max-concurrent-calls: 6 } }
                  routes:
                    orders-compiled: { %2$s }
                    orders-general: { %2$s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders-compiled, uri: "backend://orders", predicates: ["Path=/compiled/orders/**"] }
                  - { id: orders-general, uri: "backend://orders", predicates: ["Path=/general/orders/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(backend.uri(), lastGood);
    }
}
