package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.util.ResourceLeakDetector;
import io.weir.bulkhead.QueueingBulkhead;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What the event loops allocate for a request on a compiled route, with every protection and the access log on: bounds a third above what was measured, so that
 * it cannot creep up.
 */
@Timeout(120)
class AllocationIT {

    private static final String BACKEND = "orders";
    private static final String FULL = "full";
    private static final int WARM_UP = 5_000;
    private static final int REQUESTS = 2_000;

    private static final long FORWARDED_BYTES = 18_000;
    private static final long CIRCUIT_OPEN_BYTES = 7_600;
    private static final long BULKHEAD_FULL_BYTES = 7_900;

    private static ResourceLeakDetector.Level level;
    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        // Which takes note of where each buffer has been.
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri())
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
    void forwardsWithFewBytes() throws IOException {
        assertThat(bytesPerRequest(BACKEND, 200, "")).isBetween(1L, FORWARDED_BYTES);
    }

    @Test
    void refusesWithFewerBytesWhileTheBreakerIsOpen() throws IOException {
        gateway.backend(BACKEND).breaker().forceOpen();
        try {
            assertThat(bytesPerRequest(BACKEND, 503, "circuit-open")).isBetween(1L, CIRCUIT_OPEN_BYTES);
        } finally {
            gateway.backend(BACKEND).breaker().release();
        }
    }

    @Test
    void refusesWithFewerBytesWhileTheBulkheadIsFull() throws IOException {
        QueueingBulkhead bulkhead = gateway.backend(FULL).bulkhead();
        assertThat(bulkhead.tryAcquire()).isTrue();
        try {
            assertThat(bytesPerRequest(FULL, 503, "bulkhead-full")).isBetween(1L, BULKHEAD_FULL_BYTES);
        } finally {
            bulkhead.release();
        }
    }

    /** @param reason of a refusal; empty: none */
    private static long bytesPerRequest(String route, int status, String reason) throws IOException {
        String path = Door.COMPILED.path(route, "1");
        assertThat(TestCaller.get(gateway.port(), path).reason()).isEqualTo(reason);
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            ask(caller, path, WARM_UP, status);
            long before = allocated();
            ask(caller, path, REQUESTS, status);
            long bytes = (allocated() - before) / REQUESTS;
            System.out.printf(
                    Locale.ROOT,
                    "allocated for a request that is %s: %d bytes%n",
                    reason.isEmpty() ? "forwarded" : "refused, " + reason,
                    bytes);
            return bytes;
        }
    }

    private static void ask(TestCaller caller, String path, int requests, int status) throws IOException {
        for (int i = 0; i < requests; i++) {
            assertThat(caller.request("GET", path).status()).isEqualTo(status);
        }
    }

    /** By the event loops of all gateways in this JVM; those of others are idle. */
    private static long allocated() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] loops = Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds()))
                .filter(thread -> thread != null && thread.getThreadName().contains("http-epoll"))
                .mapToLong(thread -> thread.getThreadId())
                .toArray();
        return Arrays.stream(threads.getThreadAllocatedBytes(loops)).sum();
    }
}
