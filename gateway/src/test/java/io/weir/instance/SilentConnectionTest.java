package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2ChannelDuplexHandler;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2FrameStream;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.testing.Leaks;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import reactor.netty.NettyPipeline;

@ExtendWith(Leaks.class)
class SilentConnectionTest {

    private static final Duration BETWEEN_CHECKS = Duration.ofMillis(500);
    private static final int ACK = 1;
    private static final int STREAM = 3;
    private static final int WINDOW = 65_535;
    /** The checks until a connection is silent, or exhausted. */
    private static final int CHECKS = 3;

    /** Opens streams. */
    private static final class Streams extends Http2ChannelDuplexHandler {}

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Streams streams = new Streams();

    @BeforeEach
    void connect() {
        channel.freezeTime();
        channel.pipeline()
                .addLast(
                        NettyPipeline.HttpCodec,
                        Http2FrameCodecBuilder.forClient().build())
                .addLast(streams);
        SilentConnection.watch(channel, BETWEEN_CHECKS);
        receive(Http2FrameTypes.SETTINGS, 0, 0, Unpooled.EMPTY_BUFFER);
    }

    @AfterEach
    @SuppressWarnings("FutureReturnValueIgnored") // An embedded channel closes at once.
    void close() {
        // The rest of a body that waits for the window fails.
        channel.close();
        channel.releaseInbound();
        channel.releaseOutbound();
    }

    private void receive(int type, int flags, int stream, ByteBuf payload) {
        ByteBuf frame = Unpooled.buffer()
                .writeMedium(payload.readableBytes())
                .writeByte(type)
                .writeByte(flags)
                .writeInt(stream)
                .writeBytes(payload);
        channel.writeInbound(frame);
    }

    private void answerPing() {
        receive(Http2FrameTypes.PING, ACK, 0, Unpooled.buffer().writeLong(1));
    }

    private void widenWindow(int stream, int bytes) {
        receive(Http2FrameTypes.WINDOW_UPDATE, 0, stream, Unpooled.buffer().writeInt(bytes));
    }

    private void call(int bodyBytes) {
        Http2FrameStream stream = streams.newStream();
        Http2Headers head = new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("a")
                .path("/");
        channel.writeOutbound(new DefaultHttp2HeadersFrame(head, bodyBytes == 0).stream(stream));
        if (bodyBytes > 0) {
            channel.writeOutbound(
                    new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(new byte[bodyBytes]), true).stream(stream));
        }
    }

    private void pass(int checks) {
        for (int i = 0; i < checks; i++) {
            channel.advanceTimeBy(BETWEEN_CHECKS.toMillis(), TimeUnit.MILLISECONDS);
            channel.runScheduledPendingTasks();
        }
    }

    private boolean isSilent() {
        return SilentConnection.isSilent(channel);
    }

    @Test
    void isSilentFromAnUnansweredPingUntilAnythingIsReceived() {
        call(0);
        pass(CHECKS - 1);
        assertThat(isSilent()).isFalse();
        pass(1);
        assertThat(isSilent()).isTrue();

        answerPing();
        assertThat(isSilent()).isFalse();
    }

    @Test
    void isNotSilentWhileThePingIsAnswered() {
        call(0);
        for (int i = 0; i < 100; i++) {
            pass(CHECKS - 1);
            answerPing();
            assertThat(isSilent()).isFalse();
        }
    }

    @Test
    void isAvoidedWhileItsWindowStaysExhausted() {
        call(2 * WINDOW);
        pass(CHECKS - 1);
        answerPing();
        assertThat(isSilent()).isFalse();
        pass(1);
        assertThat(isSilent()).isTrue();
        answerPing();
        assertThat(isSilent()).isTrue();

        widenWindow(0, WINDOW);
        assertThat(isSilent()).isFalse();
    }

    /** The body of a slow upload, or one that is faster than the path. */
    @Test
    void isNotAvoidedWhileItsWindowIsWidenedFromTimeToTime() {
        call(10 * WINDOW);
        for (int i = 0; i < 50; i++) {
            pass(CHECKS - 1);
            widenWindow(0, 1000);
            widenWindow(STREAM, 1000);
            assertThat(isSilent()).isFalse();
        }
    }

    /** The backend does not read this one upload, and other calls are not affected. */
    @Test
    void isNotAvoidedForTheExhaustedWindowOfOneStream() {
        call(2 * WINDOW);
        widenWindow(0, WINDOW);
        for (int i = 0; i < 10; i++) {
            pass(CHECKS - 1);
            answerPing();
            assertThat(isSilent()).isFalse();
        }
    }
}
