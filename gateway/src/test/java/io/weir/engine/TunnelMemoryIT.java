package io.weir.engine;

import static io.weir.testing.Patience.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.util.internal.PlatformDependent;
import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestWebSocket;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** A WebSocket whose peer does not read holds few frames, whatever their size. */
class TunnelMemoryIT extends OneBackendTests {

    private static final String BACKEND = "orders";
    private static final int TUNNELS = 24;
    private static final int FRAME_BYTES = 65_536;

    /** Some frames of each direction, and the allocator's own overhead; 128 frames would be 8 MB. */
    private static final long MOST_BYTES = TUNNELS * 1_500_000L;

    private final List<TestCaller> callers = new ArrayList<>();
    private final AtomicLong sentFrames = new AtomicLong();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend(BACKEND, backend.uri(), "connection: { max-idle: 200ms }")
                .route(BACKEND, BACKEND)
                .start();
    }

    @AfterEach
    @Override
    protected void nothingIsHeld() throws IOException {
        for (TestCaller caller : callers) {
            // A reset: the gateway cannot see another end behind frames that it does not read.
            caller.socket().setSoLinger(true, 0);
            caller.close();
        }
        super.nothingIsHeld();
    }

    @Door.Any
    void whileTheCallerReadsNothing(Door door) throws IOException {
        backend.behave((request, conversation) -> sendForEver(TestWebSocket.accept(request, conversation)));
        long before = PlatformDependent.usedDirectMemory();

        for (int i = 0; i < TUNNELS; i++) {
            open(door);
        }

        assertThat(heldBytes(before)).isLessThan(MOST_BYTES);
    }

    @Door.Any
    void whileTheBackendReadsNothing(Door door) throws IOException {
        CountDownLatch isOver = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            TestWebSocket.accept(request, conversation);
            isOver.await();
        });
        long before = PlatformDependent.usedDirectMemory();

        try {
            for (int i = 0; i < TUNNELS; i++) {
                TestWebSocket socket = open(door);
                Thread.ofVirtual().start(() -> sendForEver(socket));
            }

            assertThat(heldBytes(before)).isLessThan(MOST_BYTES);
        } finally {
            isOver.countDown();
        }
    }

    private TestWebSocket open(Door door) throws IOException {
        TestCaller caller = TestCaller.to(gateway.port());
        callers.add(caller);
        return TestWebSocket.open(caller, door.path(BACKEND, "socket"));
    }

    private void sendForEver(TestWebSocket socket) {
        byte[] payload = new byte[FRAME_BYTES];
        try {
            while (true) {
                socket.send(TestWebSocket.BINARY, true, payload);
                sentFrames.incrementAndGet();
            }
        } catch (IOException e) {
            // The test is over.
        }
    }

    /** The memory once the senders are stuck. */
    private long heldBytes(long before) {
        AtomicLong seen = new AtomicLong();
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(500)).until(() -> {
            long now = sentFrames.get();
            return now == seen.getAndSet(now) && now > 0;
        });
        return PlatformDependent.usedDirectMemory() - before;
    }
}
