package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import tools.jackson.databind.JsonNode;

/**
 * Large bodies pass in constant memory, and long streams last as long as their route allows.
 *
 * <p>{@code -Dlarge.mib=1024 -Dlarge.silence-ms=30000} raises the bodies to 1 GiB and the pauses of the
 * streams.
 */
@Tag("full")
@Tag("measurement")
@ExtendWith(Leaks.class)
class LargeIT {

    private static final String BACKEND = "orders";

    private static final long BYTES = Long.getLong("large.mib", 128L) << 20;
    private static final Duration DEADLINE = Duration.ofSeconds(1);
    /** The pause between the events of a stream: longer than its deadline. */
    private static final Duration SILENCE = Duration.ofMillis(Long.getLong("large.silence-ms", 1500L));

    private static final int BLOCK = 65_536;

    /** The memory that the gateway may use for an exchange, without the kernel's socket buffers. */
    private static final long HELD_MAX_BYTES = 32L << 20;

    /**
     * The bytes that may be in transit: in the gateway, and in the socket buffers between, each of up to 33
     * MB on a usual Linux.
     */
    private static final long IN_TRANSIT_MAX_BYTES = 112L << 20;

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        TestGateway.Setup setup = TestGateway.setup()
                .backend(
                        BACKEND, backend.uri(), "deadline: 5m", "circuit-breaker: { slow-call-duration-threshold: 5m }")
                .route(BACKEND, BACKEND);
        for (Door door : Door.values()) {
            setup.backend(
                            events(door),
                            backend.uri(),
                            "deadline: " + DEADLINE.toMillis() + "ms",
                            "circuit-breaker: { slow-call-duration-threshold: " + DEADLINE.toMillis() + "ms }")
                    .route(events(door), events(door), "mode: stream");
        }
        gateway = setup.start();
    }

    /** Each door has its own backend for events, since both doors are used at once. */
    private static String events(Door door) {
        return "events-" + door.word();
    }

    @BeforeEach
    void reset() {
        gateway.calm();
    }

    @AfterEach
    void assertNothingHeld() throws IOException {
        gateway.assertNothingHeld();
        gateway.assertNeighbourUnharmed();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    /** A body that is generated while it is sent, and compared by its checksum. */
    private static final class Body {

        @FunctionalInterface
        interface Sink {

            void write(byte[] bytes) throws IOException;
        }

        private final byte[] block = new byte[BLOCK];
        private final CRC32C sum = new CRC32C();
        private final AtomicLong sent = new AtomicLong();

        Body() {
            new Random(11).nextBytes(block);
        }

        /** Sends the body; runs the action after the first half. */
        void send(Sink sink, Runnable atHalf) throws IOException {
            for (long at = 0; at < BYTES; at += BLOCK) {
                if (at == BYTES / 2) {
                    atHalf.run();
                }
                ByteBuffer.wrap(block).putLong(at);
                sum.update(block);
                sink.write(block);
                sent.addAndGet(BLOCK);
            }
        }

        long sum() {
            return sum.getValue();
        }

        /** Reads a body of the same size; returns its checksum. */
        static long sumOf(InputStream in) throws IOException {
            CRC32C read = new CRC32C();
            byte[] some = new byte[BLOCK];
            for (long left = BYTES; left > 0; ) {
                int length = in.read(some, 0, (int) Math.min(BLOCK, left));
                if (length < 0) {
                    throw new EOFException(left + " bytes are missing");
                }
                read.update(some, 0, length);
                left -= length;
            }
            return read.getValue();
        }
    }

    /** The memory of the gateway's JVM, which includes the test's callers and backends. */
    private static final class Memory {

        private final long heapBefore = heap();
        private final long directBefore = direct();
        private volatile long directMost;
        private volatile long heapAtHalf;
        private final Thread watch = Thread.ofPlatform().daemon().start(this::watch);

        private void watch() {
            while (!Thread.currentThread().isInterrupted()) {
                directMost = Math.max(directMost, direct());
                try {
                    // Between two samples.
                    Thread.sleep(10);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }

        /** Measures the reachable heap after the first half. */
        void half() {
            heapAtHalf = heap();
        }

        private static long heap() {
            System.gc();
            return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
        }

        private static long direct() {
            return ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT)
                    .metric()
                    .usedDirectMemory();
        }

        void assertConstant(String label) throws InterruptedException {
            watch.interrupt();
            watch.join();
            long heap = heapAtHalf - heapBefore;
            long direct = directMost - directBefore;
            System.out.printf(
                    "%s: %d MiB; at most %d KiB more of direct memory, %d KiB more of the heap%n",
                    label, BYTES >> 20, direct >> 10, heap >> 10);
            assertThat(heapAtHalf).as("the measured heap").isPositive();
            assertThat(heap).as("growth of the heap").isLessThan(HELD_MAX_BYTES);
            assertThat(direct).as("growth of direct memory").isLessThan(HELD_MAX_BYTES);
        }
    }

    // ---------------------------------------------------------------- large bodies

    @Door.Each
    void passesALargeAnswerInConstantMemory(Door door) throws Exception {
        Body body = new Body();
        Memory memory = new Memory();
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: " + BYTES + "\r\n\r\n");
            body.send(conversation::write, memory::half);
        });
        String path = door.path(BACKEND, "down");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", path));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(Body.sumOf(caller.in())).isEqualTo(body.sum());
            JsonNode line = gateway.assertTold(door, BACKEND, path, 200, "2xx");
            assertThat(line.path("bytes").asLong()).isEqualTo(BYTES);
        }
        memory.assertConstant("down, " + door.word());
    }

    @Door.Each
    void passesALargeBodyInConstantMemory(Door door) throws Exception {
        Body body = new Body();
        Memory memory = new Memory();
        backend.behave(
                (request, conversation) -> conversation.answer(200, Long.toString(Body.sumOf(conversation.in()))));
        String path = door.path(BACKEND, "up");
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", path, "Content-Length: " + BYTES));
            body.send(caller::send, memory::half);
            assertThat(caller.answer().text()).isEqualTo(Long.toString(body.sum()));
        }
        memory.assertConstant("up, " + door.word());
        gateway.assertTold(door, BACKEND, path, 200, "2xx");
    }

    @Door.Each
    void stopsReadingFromTheBackendWhileTheCallerReadsNothing(Door door) throws Exception {
        Body body = new Body();
        Memory memory = new Memory();
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: " + BYTES + "\r\n\r\n");
            body.send(conversation::write, memory::half);
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path(BACKEND, "untaken")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            awaitNoMoreSent(body.sent);
            assertThat(body.sent).hasValueLessThan(IN_TRANSIT_MAX_BYTES);

            assertThat(Body.sumOf(caller.in())).isEqualTo(body.sum());
        }
        memory.assertConstant("down, taken late, " + door.word());
    }

    @Door.Each
    void stopsReadingFromTheCallerWhileTheBackendReadsNothing(Door door) throws Exception {
        Body body = new Body();
        Memory memory = new Memory();
        CountDownLatch reading = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            reading.await();
            conversation.answer(200, Long.toString(Body.sumOf(conversation.in())));
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("POST", door.path(BACKEND, "unread"), "Content-Length: " + BYTES));
            CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> {
                try {
                    body.send(caller::send, memory::half);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            awaitNoMoreSent(body.sent);
            assertThat(body.sent).hasValueLessThan(IN_TRANSIT_MAX_BYTES);

            reading.countDown();
            assertThat(caller.answer().text()).isEqualTo(Long.toString(body.sum()));
            sending.join();
        }
        memory.assertConstant("up, read late, " + door.word());
    }

    /**
     * Waits until no more bytes are sent. If the machine itself stalls, this returns early; too few bytes are
     * then sent for a false failure.
     */
    private static void awaitNoMoreSent(AtomicLong sent) {
        long[] last = {-1};
        await().pollInterval(Duration.ofMillis(300)).until(() -> {
            long before = last[0];
            last[0] = sent.get();
            return before > 0 && before == last[0];
        });
    }

    // ---------------------------------------------------------------- long streams

    @Test
    void passesEventsOnAtOnceForLongerThanTheDeadline() throws Exception {
        int events = 4;
        Map<String, Semaphore> next = Map.of(
                eventsPath(Door.COMPILED), new Semaphore(0),
                eventsPath(Door.GENERAL), new Semaphore(0));
        backend.behave((request, conversation) -> {
            conversation.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            for (int i = 0; i < events; i++) {
                String event = "id: " + i + "\ndata: " + "x".repeat(i * 100) + "\n\n";
                conversation.write(Integer.toHexString(event.length()) + "\r\n" + event + "\r\n");
                // The caller receives the event first; then the stream pauses.
                Objects.requireNonNull(next.get(request.target())).tryAcquire(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                Thread.sleep(SILENCE);
            }
            conversation.write("0\r\n\r\n");
        });
        try (ExecutorService callers = Executors.newFixedThreadPool(Door.values().length)) {
            List<Future<?>> all = new ArrayList<>();
            for (Door door : Door.values()) {
                all.add(callers.submit(() -> {
                    readEvents(door, events, Objects.requireNonNull(next.get(eventsPath(door))));
                    return null;
                }));
            }
            for (Future<?> each : all) {
                each.get();
            }
        }
    }

    private static String eventsPath(Door door) {
        return door.path(events(door), "events");
    }

    private static void readEvents(Door door, int events, Semaphore next) throws IOException {
        String path = eventsPath(door);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.socket()
                    .setSoTimeout((int) SILENCE.plus(TestGateway.PATIENCE).toMillis());
            caller.send(TestCaller.head("GET", path, "Accept: text/event-stream"));
            TestCaller.Answer head = caller.readHead();
            assertThat(head.header("content-type")).startsWith("text/event-stream");
            for (int i = 0; i < events; i++) {
                assertThat(caller.chunk()).startsWith("id: " + i + "\n").endsWith("\n\n");
                assertThat(gateway.backend(events(door)).streams().inUse()).isEqualTo(1);
                assertThat(gateway.backend(events(door)).bulkhead().inUse()).isZero();
                next.release();
            }
            assertThat(caller.chunk()).isEmpty();
        }
        JsonNode line = gateway.assertTold(door, events(door), path, 200, "2xx");
        assertThat(line.path("total_ms").asDouble()).isGreaterThanOrEqualTo((double) (events * SILENCE.toMillis()));
        gateway.assertFed(events(door), 1, 0, 0);
    }
}
