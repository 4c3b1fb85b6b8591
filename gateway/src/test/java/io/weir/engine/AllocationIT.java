package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.util.ResourceLeakDetector;
import io.weir.limit.QueueingBulkhead;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Bounds the bytes that the event loops allocate for a request on a compiled route, with every protection and
 * the access log enabled. The bounds are a third above the measured values, so that the allocation cannot
 * creep up. The code of the JVM's first compiler runs: that of the second one allocates up to a tenth less,
 * from a moment on that depends on the machine.
 */
@Tag("full")
@Tag("measurement")
class AllocationIT {

    private static final String BACKEND = "orders";
    private static final String FULL = "full";
    private static final int WARM_UP = 500;
    private static final int REQUESTS = 1_000;
    private static final int ROUNDS = 5;

    private static final long FORWARDED_BYTES = 18_000;
    private static final long CIRCUIT_OPEN_BYTES = 6_600;
    private static final long BULKHEAD_FULL_BYTES = 7_000;

    private static ResourceLeakDetector.Level level;
    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        // The detector would allocate a record for each access to a buffer.
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "deadline: 20s")
                .route(BACKEND, BACKEND)
                .backend(FULL, backend.uri(), "bulkhead: { max-concurrent-calls: 1, queue-capacity: 0 }")
                .route(FULL, FULL)
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
        ResourceLeakDetector.setLevel(level);
    }

    @Test
    void allocatesFewBytesForAForwardedRequest() throws IOException {
        assertBytesPerRequest(BACKEND, 200, "", FORWARDED_BYTES);
    }

    @Test
    void allocatesFewerBytesForARefusalOfTheBreaker() throws IOException {
        gateway.backend(BACKEND).health().operator().forceOpen();
        try {
            assertBytesPerRequest(BACKEND, 503, "circuit-open", CIRCUIT_OPEN_BYTES);
        } finally {
            gateway.backend(BACKEND).health().operator().release();
        }
    }

    @Test
    void allocatesFewerBytesForARefusalOfTheBulkhead() throws IOException {
        QueueingBulkhead bulkhead = gateway.backend(FULL).bulkhead();
        assertThat(bulkhead.tryAcquire()).isTrue();
        try {
            assertBytesPerRequest(FULL, 503, "bulkhead-full", BULKHEAD_FULL_BYTES);
        } finally {
            bulkhead.release();
        }
    }

    /**
     * Takes the smallest of a few rounds.
     *
     * @param reason the expected reason of a refusal; empty: the request is forwarded
     */
    private static void assertBytesPerRequest(String route, int status, String reason, long maxBytes)
            throws IOException {
        String path = Door.COMPILED.path(route, "1");
        assertThat(TestCaller.get(gateway.port(), path).reason()).isEqualTo(reason);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            ask(caller, path, WARM_UP, status);
            long least = Long.MAX_VALUE;
            for (int round = 0; round < ROUNDS && least > maxBytes; round++) {
                long before = allocated();
                ask(caller, path, REQUESTS, status);
                least = Math.min(least, (allocated() - before) / REQUESTS);
            }
            System.out.printf(
                    Locale.ROOT,
                    "allocated for a request that is %s: %d bytes%n",
                    reason.isEmpty() ? "forwarded" : "refused, " + reason,
                    least);
            assertThat(least).isBetween(1L, maxBytes);
        }
    }

    private static void ask(TestCaller caller, String path, int requests, int status) throws IOException {
        for (int i = 0; i < requests; i++) {
            assertThat(caller.request("GET", path).status()).isEqualTo(status);
        }
    }

    /** Bytes allocated by the event loops of all gateways in this JVM. The other gateways are idle. */
    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] loops = Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
                .filter(thread -> thread != null && thread.getThreadName().contains("http-epoll"))
                .mapToLong(thread -> thread.getThreadId())
                .toArray();
        return Arrays.stream(threads.getThreadAllocatedBytes(loops)).sum();
    }
}
