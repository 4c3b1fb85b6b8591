package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.netty.util.ResourceLeakDetector;
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
    private static final int WARM_UP = 5_000;
    private static final int REQUESTS = 2_000;

    private static final long FORWARDED_BYTES = 18_000;
    private static final long REFUSED_BYTES = 7_600;

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
        assertThat(bytesPerRequest(200, "forwarded")).isBetween(1L, FORWARDED_BYTES);
    }

    @Test
    void refusesWithFewerBytes() throws IOException {
        gateway.backend(BACKEND).breaker().forceOpen();
        try {
            assertThat(bytesPerRequest(503, "refused")).isBetween(1L, REFUSED_BYTES);
        } finally {
            gateway.backend(BACKEND).breaker().release();
        }
    }

    private static long bytesPerRequest(int status, String what) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            ask(caller, WARM_UP, status);
            long before = allocated();
            ask(caller, REQUESTS, status);
            long bytes = (allocated() - before) / REQUESTS;
            System.out.printf(Locale.ROOT, "allocated for a request that is %s: %d bytes%n", what, bytes);
            return bytes;
        }
    }

    private static void ask(TestCaller caller, int requests, int status) throws IOException {
        String path = Door.COMPILED.path(BACKEND, "1");
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
