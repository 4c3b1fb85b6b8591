package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/**
 * Answers of 50 MB whose callers do not read them: the gateway holds at most {@code edge.read-ahead} of each.
 */
@ExtendWith(Leaks.class)
@Timeout(60)
class AnswerReadAheadIT {

    private static final String HTTP1 = "http1";
    private static final String HTTP2 = "http2";
    private static final int READERS = 20;
    private static final int PART_BYTES = 65_536;
    private static final int PARTS = 800;
    private static final int RECEIVE_BUFFER_BYTES = 65_536;
    private static final int RESUMED_BYTES = 4 << 20;
    /** The default of {@code edge.read-ahead}. */
    private static final int READ_AHEAD_BYTES = 64 << 10;
    /** The rest of one read of the backend's connection, or the window of its stream. */
    private static final int LAST_READ_BYTES = 64 << 10;
    /** A part of a buffer keeps all of it, and the allocator rounds its chunks up. */
    private static final int HTTP1_FACTOR = 2;
    /** Each frame of a window that opens frame by frame keeps the buffer of a whole read. */
    private static final int HTTP2_FACTOR = 7;

    private static final AtomicLong SENT = new AtomicLong();

    private static TestBackend http1;
    private static DisposableServer http2;
    private static TestGateway gateway;
    private static long idleDirectBytes;

    private final List<Socket> readers = new ArrayList<>();

    @BeforeAll
    static void start() throws IOException {
        byte[] part = new byte[PART_BYTES];
        http1 = TestBackend.start((request, conversation) -> {
            if (request.target().endsWith("small")) {
                conversation.answer(200, "small");
                return;
            }
            conversation.write("HTTP/1.1 200 OK\r\nContent-Length: " + (long) PARTS * PART_BYTES + "\r\n\r\n");
            for (int i = 0; i < PARTS; i++) {
                conversation.write(part);
                SENT.addAndGet(PART_BYTES);
            }
        });
        http2 = HttpServer.create()
                .host("127.0.0.1")
                .port(0)
                .protocol(HttpProtocol.H2C)
                // Only the gateway's memory is measured.
                .childOption(ChannelOption.ALLOCATOR, UnpooledByteBufAllocator.DEFAULT)
                .handle((request, response) -> request.uri().endsWith("small")
                        ? response.sendString(Mono.just("small"))
                        : response.send(Flux.range(0, PARTS).map(i -> {
                            SENT.addAndGet(PART_BYTES);
                            return Unpooled.wrappedBuffer(part);
                        })))
                .bindNow();
        String[] properties = {"deadline: 50s", "connection: { connect-timeout: 5s }"};
        gateway = TestGateway.setup()
                .weir("edge: { read-idle-timeout: 5m }")
                .backend(HTTP1, http1.uri(), properties)
                .backend(HTTP2, "http://127.0.0.1:" + http2.port(), properties[0], properties[1], "protocol: h2")
                .route(HTTP1, HTTP1)
                .route(HTTP2, HTTP2)
                .start();
        assertThat(small(Door.COMPILED, HTTP1)).isEqualTo("small");
        assertThat(small(Door.COMPILED, HTTP2)).isEqualTo("small");
        idleDirectBytes = directBytes();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        http1.close();
        http2.disposeNow();
    }

    @AfterEach
    void nothingIsHeld() throws IOException {
        for (Socket reader : readers) {
            reader.close();
        }
        gateway.assertNothingHeld();
    }

    @Door.Each
    void areReadAheadByAtMostTheReadAheadOverHttp1(Door door) throws Exception {
        assertReadAheadIsBounded(door, HTTP1, HTTP1_FACTOR);
    }

    @Door.Each
    void areReadAheadByAtMostTheReadAheadOverHttp2(Door door) throws Exception {
        assertReadAheadIsBounded(door, HTTP2, HTTP2_FACTOR);
    }

    private void assertReadAheadIsBounded(Door door, String route, int factor) throws Exception {
        for (int i = 0; i < READERS; i++) {
            startReading(door.path(route, "large"));
        }
        awaitStandstill();

        long held = directBytes() - idleDirectBytes;
        System.out.printf("%s, %s: %d KiB for each of %d answers%n", route, door, (held / READERS) >> 10, READERS);
        assertThat(held / READERS)
                .as("direct memory for each answer")
                .isLessThanOrEqualTo((long) factor * (READ_AHEAD_BYTES + LAST_READ_BYTES));

        // Over HTTP/2, all answers share a connection.
        assertThat(small(door, route)).as("a caller that reads").isEqualTo("small");
        Socket resumed = readers.getFirst();
        assertThat(resumed.getInputStream().skip(RESUMED_BYTES)).isEqualTo(RESUMED_BYTES);
    }

    private static String small(Door door, String route) throws IOException {
        return TestCaller.get(gateway.port(), door.path(route, "small")).text();
    }

    private void startReading(String path) throws IOException {
        Socket socket = new Socket();
        readers.add(socket);
        socket.setReceiveBufferSize(RECEIVE_BUFFER_BYTES);
        socket.setSoTimeout((int) TestGateway.PATIENCE.toMillis());
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), gateway.port()));
        socket.getOutputStream().write(TestCaller.head("GET", path).getBytes(StandardCharsets.ISO_8859_1));
        assertThat(socket.getInputStream().read()).isEqualTo('H');
    }

    private static void awaitStandstill() {
        long[] last = {-1};
        await().pollInterval(Duration.ofMillis(300)).until(() -> {
            long before = last[0];
            last[0] = SENT.get();
            return before > 0 && before == last[0];
        });
    }

    private static long directBytes() {
        return ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT)
                .metric()
                .usedDirectMemory();
    }
}
