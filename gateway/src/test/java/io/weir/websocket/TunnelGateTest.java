package io.weir.websocket;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocket13FrameDecoder;
import io.netty.handler.codec.http.websocketx.WebSocketDecoderConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TunnelGateTest {

    private final EmbeddedChannel from = new EmbeddedChannel(new WebSocket13FrameDecoder(
            WebSocketDecoderConfig.newBuilder().expectMaskedFrames(false).build()));
    private final EmbeddedChannel to = new EmbeddedChannel();
    private final TunnelGate gate = new TunnelGate(from, to);

    @BeforeEach
    void install() {
        gate.install();
    }

    @AfterEach
    void close() {
        from.finishAndReleaseAll();
        to.finishAndReleaseAll();
    }

    private ChannelFuture fill() {
        return to.write(Unpooled.wrappedBuffer(new byte[100_000]));
    }

    /** Like Netty after each read. */
    private boolean goesOnReading() {
        from.runPendingTasks();
        if (from.config().isAutoRead()) {
            from.read();
        }
        return from.config().isAutoRead();
    }

    private void receiveText() {
        from.writeInbound(Unpooled.wrappedBuffer(new byte[] {(byte) 0x81, 1, 'a'}));
    }

    @Test
    void readsWhileTheOtherSideIsWritable() {
        assertThat(goesOnReading()).isTrue();
    }

    @Test
    void readsOnlyWhenTheOtherSideIsWritableAgain() {
        ChannelFuture written = fill();
        assertThat(goesOnReading()).isFalse();

        to.flush();
        assertThat(goesOnReading()).isTrue();
        assertThat(written.isSuccess()).isTrue();
    }

    @Test
    void readsOnlyWhenWhatWasReadIsPassedOn() {
        receiveText();
        assertThat(from.<TextWebSocketFrame>readInbound().release()).isTrue();
        assertThat(goesOnReading()).isFalse();

        gate.passed();
        assertThat(goesOnReading()).isTrue();
    }

    @Test
    void isOpenAfterFramesThatCameBeforeTheGate() {
        gate.passed();
        assertThat(goesOnReading()).isTrue();

        receiveText();
        assertThat(from.<TextWebSocketFrame>readInbound().release()).isTrue();
        assertThat(goesOnReading()).isFalse();
        gate.passed();
        assertThat(goesOnReading()).isTrue();
    }

    @Test
    void staysClosedWhileOnlyOneOfTheTwoHolds() {
        ChannelFuture written = fill();
        receiveText();
        assertThat(from.<TextWebSocketFrame>readInbound().release()).isTrue();
        assertThat(goesOnReading()).isFalse();

        gate.passed();
        assertThat(goesOnReading()).isFalse();
        to.flush();
        assertThat(goesOnReading()).isTrue();
        assertThat(written.isSuccess()).isTrue();
    }

    /** Reactor Netty's reader has switched it off, and switches it on again. */
    @Test
    void leavesReadingOffThatItHasNotSwitchedOff() {
        from.config().setAutoRead(false);
        ChannelFuture written = fill();
        to.flush();

        assertThat(goesOnReading()).isFalse();
        assertThat(written.isSuccess()).isTrue();
    }

    /** Its close frame, or its end, must be seen. */
    @Test
    void readsEverythingOnceTheOtherSideHasClosed() {
        ChannelFuture written = fill();
        assertThat(goesOnReading()).isFalse();

        to.close().syncUninterruptibly();
        assertThat(goesOnReading()).isTrue();
        assertThat(written.isSuccess()).isFalse();
    }

    @Test
    void isNotInstalledOnAConnectionThatHasClosed() {
        EmbeddedChannel closed = new EmbeddedChannel();
        new TunnelGate(closed, to).install();
        assertThat(closed.pipeline().names()).hasSize(1);
        closed.finishAndReleaseAll();
    }
}
