package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2FrameTypes;
import org.junit.jupiter.api.Test;

class Http2FrameCursorTest {

    private static final int END_HEADERS = 4;

    private final Http2FrameCursor cursor = new Http2FrameCursor();

    private static ByteBuf header(int type, int flags, int streamId, int length) {
        return Unpooled.buffer()
                .writeMedium(length)
                .writeByte(type)
                .writeByte(flags)
                .writeInt(streamId);
    }

    private void readHeader(ByteBuf header) {
        assertThat(cursor.readHeader(header, 0, header.writerIndex())).isEqualTo(header.readableBytes());
    }

    @Test
    void readsAHeaderInParts() {
        ByteBuf header = header(Http2FrameTypes.DATA, 1, 0x80000102, 0x010203);
        assertThat(cursor.readHeader(header, 0, 4)).isEqualTo(4);
        assertThat(cursor.isInHeader()).isTrue();
        assertThat(cursor.isInPayload()).isFalse();
        assertThat(cursor.readHeader(header, 4, header.writerIndex())).isEqualTo(5);

        assertThat(cursor.isInHeader()).isFalse();
        assertThat(cursor.isInPayload()).isTrue();
        assertThat(cursor.type()).isEqualTo(Http2FrameTypes.DATA);
        assertThat(cursor.flags()).isEqualTo(1);
        assertThat(cursor.streamId()).isEqualTo(0x102);
        assertThat(cursor.remainingBytes()).isEqualTo(0x010203);
    }

    @Test
    void skipsAPayloadInParts() {
        readHeader(header(Http2FrameTypes.PING, 0, 0, 8));
        assertThat(cursor.skipPayload(5)).isEqualTo(5);
        cursor.endFrame();
        assertThat(cursor.isInHead()).isTrue();
        assertThat(cursor.skipPayload(100)).isEqualTo(3);
        cursor.endFrame();
        assertThat(cursor.isInHead()).isFalse();
        assertThat(cursor.isInPayload()).isFalse();
    }

    @Test
    void isInAHeadUntilItsLastContinuation() {
        readHeader(header(Http2FrameTypes.HEADERS, 0, 1, 0));
        assertThat(cursor.isHead()).isTrue();
        cursor.endFrame();
        assertThat(cursor.isInHead()).isTrue();
        readHeader(header(Http2FrameTypes.CONTINUATION, END_HEADERS, 1, 0));
        cursor.endFrame();
        assertThat(cursor.isInHead()).isFalse();
    }

    @Test
    void bodiesAreNoHeads() {
        readHeader(header(Http2FrameTypes.DATA, 0, 1, 10));
        assertThat(cursor.isInHead()).isFalse();
        assertThat(cursor.isHead()).isFalse();
    }
}
