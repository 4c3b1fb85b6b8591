package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Callers that upload or read slowly beside healthy ones: they take no permits from others, and their time
 * does not count as the backend's.
 */
@ExtendWith(Leaks.class)
class SlowCallersIT {

    private static final String FEW = "few";
    private static final String CROWDED = "crowded";
    private static final String USUAL = "usual";
    private static final int FEW_PERMITS = 4;
    private static final int SLOW_CALLERS = 100;
    private static final int HEALTHY_CALLS = 300;
    private static final int SMALL_BODY = 1_000;
    private static final int LARGE_BODY = 100_000;
    private static final int REST = 10;
    private static final int LARGE_UPLOADS = 40;
    private static final int ANSWER_BYTES = 64 << 20;

    private static TestBackend backend;
    private static TestGateway gateway;

    private final List<TestCaller> slow = new ArrayList<>();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        // The test's backend accepts one connection after the other.
        String patient = "connection: { connect-timeout: 20s }";
        gateway = TestGateway.setup()
                .backend(
                        FEW,
                        backend.uri(),
                        "deadline: 30s",
                        patient,
                        "bulkhead: { max-concurrent-calls: " + FEW_PERMITS
                                + ", queue-capacity: 200, max-wait-duration: 20s }")
                .route(FEW, FEW)
                .backend(
                        CROWDED,
                        backend.uri(),
                        "deadline: 30s",
                        patient,
                        "max-streams: " + FEW_PERMITS,
                        "bulkhead: { max-concurrent-calls: " + FEW_PERMITS
                                + ", queue-capacity: 200, max-wait-duration: 8s }")
                .route(CROWDED, CROWDED)
                .backend(USUAL, backend.uri(), "deadline: 60s", patient)
                .route(USUAL, USUAL)
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @BeforeEach
    void behave() {
        backend.behave((request, conversation) -> {
            if (request.target().endsWith("large")) {
                answerLarge(conversation);
            } else {
                long bytes = request.method().equals("GET") ? 0 : conversation.drain(request);
                conversation.answer(200, "took " + bytes);
            }
        });
    }

    @AfterEach
    void nothingIsHeld() {
        slow.forEach(SlowCallersIT::close);
        gateway.assertNothingHeld();
        await().until(() -> gateway.bean(Engine.class).readAheadBytes() == 0);
    }

    @Door.Any
    void takeNoPermitWhileTheyUpload(Door door) throws IOException {
        startUploads(SLOW_CALLERS, door.path(FEW, "upload"), SMALL_BODY);
        assertThat(gateway.backend(FEW).bulkhead().inUse()).isZero();

        assertHealthyCallsAreAnswered(door, FEW);
        drip(REST / 2);
        assertHealthyCallsAreAnswered(door, FEW);

        finishUploads(REST - REST / 2);
    }

    /** Any caller can send these fields, to any backend. */
    @Door.Any
    void takeNoPermitByWhatTheyClaim(Door door) throws IOException {
        for (String field : List.of("Content-Type: application/grpc", "Expect: 100-continue")) {
            startUploads(SLOW_CALLERS, door.path(FEW, "upload"), SMALL_BODY, field);
            assertThat(gateway.backend(FEW).bulkhead().inUse()).as(field).isZero();

            assertHealthyCallsAreAnswered(door, FEW);

            slow.forEach(SlowCallersIT::close);
            slow.clear();
            gateway.assertNothingHeld();
        }
    }

    @Door.Any
    void moveToTheStreamsIfTheirBodyIsLargerThanIsReadAhead(Door door) throws IOException {
        startUploads(SLOW_CALLERS, door.path(FEW, "upload"), LARGE_BODY);
        // A call takes its place among the streams before it returns its permit.
        await().until(() -> gateway.backend(FEW).streams().inUse() == SLOW_CALLERS
                && gateway.backend(FEW).bulkhead().inUse() == 0);

        assertHealthyCallsAreAnswered(door, FEW);

        finishUploads();
        assertThat(gateway.backend(FEW).health().resilience4j().getMetrics().getNumberOfFailedCalls())
                .isZero();
    }

    @Door.Any
    void moveToTheStreamsIfTheyDoNotReadTheirAnswers(Door door) throws IOException {
        int readers = 8;
        startReaders(readers, door.path(FEW, "large"));
        // A call takes its place among the streams before it returns its permit.
        await().until(() -> gateway.backend(FEW).streams().inUse() == readers
                && gateway.backend(FEW).bulkhead().inUse() == 0);

        assertHealthyCallsAreAnswered(door, FEW);
    }

    /** Three times as many as the streams have room for: they would hold the permits for a while. */
    @Door.Any
    void endIfTheyFillTheStreamsAndThePermits(Door door) throws IOException {
        startReaders(3 * FEW_PERMITS, door.path(CROWDED, "large"));
        await().until(() -> gateway.backend(CROWDED).streams().inUse() == FEW_PERMITS);

        assertHealthyCallsAreAnswered(door, CROWDED);

        // Those that others do not need to end stay. One that has made room moves a moment later.
        await().until(() -> gateway.backend(CROWDED).streams().inUse() == FEW_PERMITS);
    }

    /** The time of the callers must not raise the time that the backend seems to take. */
    @Door.Any
    void causeNoRefusalForWantOfTimeAtTheDefaults(Door door) throws IOException {
        long heldNanos = Long.MAX_VALUE;
        for (int round = 0; round < 2; round++) {
            startUploads(LARGE_UPLOADS, door.path(USUAL, "upload"), LARGE_BODY);
            await().until(() -> gateway.backend(USUAL).streams().inUse() == LARGE_UPLOADS);
            heldNanos = Math.min(heldNanos, nanosOfHealthyCalls(door));
            finishUploads();
            startUploads(SLOW_CALLERS, door.path(USUAL, "upload"), SMALL_BODY);
            heldNanos = Math.min(heldNanos, nanosOfHealthyCalls(door));
            finishUploads();
        }
        long usualNanos = gateway.route(door.id(USUAL)).usualTime().nanos(System.nanoTime());
        assertThat(usualNanos).as("shorter than any upload").isPositive().isLessThan(heldNanos);
    }

    // ---------------------------------------------------------------- callers

    private void startReaders(int readers, String path) throws IOException {
        for (int i = 0; i < readers; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            slow.add(caller);
            caller.send(TestCaller.head("GET", path));
        }
    }

    /** Sends all but the last {@link #REST} bytes of each upload. */
    private void startUploads(int uploads, String path, int bytes, String... fields) throws IOException {
        String[] all = Arrays.copyOf(fields, fields.length + 1);
        all[fields.length] = "Content-Length: " + bytes;
        for (int i = 0; i < uploads; i++) {
            TestCaller caller = TestCaller.to(gateway.port());
            slow.add(caller);
            caller.send(TestCaller.head("POST", path, all));
            caller.send(new byte[bytes - REST]);
        }
        await().until(() -> gateway.bean(Engine.class).inFlight() == uploads);
    }

    /** The time of healthy calls, for which all slow callers hold up their calls. */
    private static long nanosOfHealthyCalls(Door door) {
        long from = System.nanoTime();
        assertHealthyCallsAreAnswered(door, USUAL);
        return System.nanoTime() - from;
    }

    private void drip(int bytes) throws IOException {
        for (TestCaller caller : slow) {
            caller.send(new byte[bytes]);
        }
    }

    private void finishUploads() throws IOException {
        finishUploads(REST);
    }

    /** Slow uploads that are alive succeed. One after the other: together they would be a burst. */
    private void finishUploads(int rest) throws IOException {
        for (TestCaller caller : slow) {
            caller.send(new byte[rest]);
            TestCaller.Answer answer = caller.answer();
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        }
        slow.forEach(SlowCallersIT::close);
        slow.clear();
    }

    private static void assertHealthyCallsAreAnswered(Door door, String route) {
        List<CompletableFuture<TestCaller.Answer>> healthy = new ArrayList<>();
        for (int i = 0; i < HEALTHY_CALLS; i++) {
            healthy.add(TestCaller.ask(gateway.port(), door.path(route, "healthy")));
            if (healthy.size() % 20 == 0) {
                healthy.forEach(CompletableFuture::join);
            }
        }
        assertThat(healthy)
                .allSatisfy(answer -> assertThat(answer.join().status())
                        .as(() -> answer.join().text())
                        .isEqualTo(200));
    }

    private static void answerLarge(TestBackend.Conversation conversation) throws IOException {
        conversation.write("HTTP/1.1 200 OK\r\nContent-Length: " + ANSWER_BYTES + "\r\n\r\n");
        byte[] part = new byte[65_536];
        for (int sent = 0; sent < ANSWER_BYTES; sent += part.length) {
            conversation.write(part);
        }
    }

    private static void close(TestCaller caller) {
        try {
            caller.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
