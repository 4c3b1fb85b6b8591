package io.weir.probe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.testing.Leaks;
import io.weir.testing.SocketBackend;
import io.weir.testing.TestBackend;
import java.time.Duration;
import java.util.HexFormat;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ExtendWith(Leaks.class)
class HealthProberTest {

    /** An answer that never ends would occupy its connection forever, and each probe needs a connection. */
    @Test
    void holdsAtMostOneConnectionForEachProbeInFlight() {
        TestBackend server = TestBackend.start((request, conversation) -> {
            conversation.write("HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n");
            conversation.in().read();
        });
        try (SocketBackend backend = new SocketBackend(server, Duration.ofMillis(50), "/health")) {
            HealthProber prober = HealthProber.ofPath(
                    backend.backend.instances().first(), "/health", backend.loop(), System::nanoTime);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();

            await().until(() -> server.requests() >= 20);
            // Five probes, and as many connections that are closing.
            assertThat(backend.pool.acquired()).isLessThanOrEqualTo(10);
            assertThat(backend.health.state()).isEqualTo(State.OPEN);

            prober.close();
            await().until(() -> server.connections() == 0);
            await().until(() -> backend.health.probes().underWay() == 0);
        } finally {
            server.close();
        }
    }

    /** The whole answer arrives while the event loop stands still, and so does the probe's time-out. */
    @Test
    void leaksNothingOfAnAnswerThatArrivesWhenTheProbeIsGivenUp() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch isBlocked = new CountDownLatch(1);
        CountDownLatch answered = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        TestBackend server = TestBackend.start((request, conversation) -> {
            asked.countDown();
            isBlocked.await();
            conversation.answer(503, "x".repeat(4_096));
            answered.countDown();
        });
        try (SocketBackend backend = new SocketBackend(server, Duration.ofSeconds(1), "/health")) {
            HealthProber prober = HealthProber.ofPath(
                    backend.backend.instances().first(), "/health", backend.loop(), System::nanoTime);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();
            asked.await();
            prober.close();
            backend.loop().execute(() -> {
                isBlocked.countDown();
                awaitUninterruptibly(goesOn);
            });
            answered.await();
            await().until(() -> backend.health.probes().underWay() == 0);
            goesOn.countDown();

            await().until(() -> backend.pool.acquired() == 0);
            assertThat(backend.health.state()).isEqualTo(State.OPEN);
        } finally {
            server.close();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** An answer whose body never comes is not judged. */
    @Test
    void closesTheConnectionOfAnAnswerThatIsNotJudgedInTime() {
        TestBackend server = TestBackend.start((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
            conversation.in().read();
        });
        try (SocketBackend backend = new SocketBackend(server, Duration.ofMillis(50), null)) {
            HealthProber prober =
                    HealthProber.ofGrpcHealth(backend.backend.instances().first(), backend.loop(), System::nanoTime);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();
            await().until(() -> server.requests() >= 5);
            prober.close();

            await().until(() -> server.connections() == 0);
            await().until(() -> backend.pool.acquired() == 0);
            assertThat(backend.health.probes().underWay()).isZero();
        } finally {
            server.close();
        }
    }

    /** In hexadecimal: the answers SERVING and NOT_SERVING, no message, and another message. */
    @ParameterizedTest
    @CsvSource({"00000000020801, true", "00000000020802, false", "'', false", "0000FFFFFF0801, false"})
    void healthServiceIsHealthyOnlyIfItServes(String answer, boolean isHealthy) {
        byte[] message = HexFormat.of().parseHex(answer);
        CountDownLatch asked = new CountDownLatch(2);
        TestBackend server = TestBackend.start((request, conversation) -> {
            boolean isExpected = request.target().equals("/grpc.health.v1.Health/Check")
                    && "application/grpc".equals(request.header("content-type"));
            asked.countDown();
            conversation.write("HTTP/1.1 " + (isExpected ? 200 : 400) + " Answer\r\nContent-Length: " + message.length
                    + "\r\n\r\n");
            conversation.write(message);
        });
        try (SocketBackend backend = new SocketBackend(server, Duration.ofSeconds(20), null)) {
            HealthProber prober =
                    HealthProber.ofGrpcHealth(backend.backend.instances().first(), backend.loop(), System::nanoTime);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();
            if (isHealthy) {
                await().until(() -> backend.health.state() != State.OPEN);
            } else {
                await().until(() -> asked.getCount() == 0);
                assertThat(backend.health.state()).isEqualTo(State.OPEN);
            }
            prober.close();
        } finally {
            server.close();
        }
    }

    /** The next probe is then always due; without a delay, the prober would keep an event loop busy. */
    @Test
    void waitsForAnIntervalBetweenAttemptsWhileAllProbesHang() {
        AtomicInteger attempts = new AtomicInteger();
        LongSupplier countingClock = () -> {
            attempts.incrementAndGet();
            return System.nanoTime();
        };
        TestBackend server =
                TestBackend.start((request, conversation) -> conversation.in().read());
        try (SocketBackend backend = new SocketBackend(server, Duration.ofMinutes(1), "/health")) {
            HealthProber prober =
                    HealthProber.ofPath(backend.backend.instances().first(), "/health", backend.loop(), countingClock);
            backend.health.resilience4j().transitionToOpenState();
            prober.start();
            await().until(() -> backend.health.probes().underWay() == 5);

            long startedAt = System.nanoTime();
            int before = attempts.get();
            await().until(() -> attempts.get() >= before + 4);
            int made = attempts.get() - before;

            assertThat(Duration.ofNanos(System.nanoTime() - startedAt))
                    .isGreaterThanOrEqualTo(Duration.ofMillis(10).multipliedBy(made - 1));
            prober.close();
        } finally {
            server.close();
        }
    }
}
