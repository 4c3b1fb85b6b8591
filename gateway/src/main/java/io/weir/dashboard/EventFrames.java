package io.weir.dashboard;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.Deflater;

/** Encodes server-sent events into bytes that all clients share. Not thread-safe. */
final class EventFrames implements AutoCloseable {

    /** RFC 1952: magic, deflate, no flags, no time, fastest, unknown system. */
    private static final byte[] GZIP_HEADER = {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 4, (byte) 255};

    private static final int CHUNK = 16_384;

    private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
    private final byte[] chunk = new byte[CHUNK];

    /** One event, plain and compressed; the arrays must not be changed. */
    static final class Frame {

        private final byte[] plain;
        private final byte[] deflated;

        private Frame(byte[] plain, byte[] deflated) {
            this.plain = plain;
            this.deflated = deflated;
        }

        /** The bytes to send to a client. */
        byte[] bytes(boolean gzip) {
            return gzip ? deflated : plain;
        }
    }

    /** The first bytes of a compressed stream. */
    static byte[] gzipHeader() {
        return GZIP_HEADER.clone();
    }

    /** Encodes an event with a name. */
    Frame named(String name, byte[] data) {
        ByteArrayOutputStream event = new ByteArrayOutputStream(data.length + 64);
        event.writeBytes(("event: " + name + "\ndata: ").getBytes(StandardCharsets.US_ASCII));
        event.writeBytes(data);
        event.writeBytes("\n\n".getBytes(StandardCharsets.US_ASCII));
        return frame(event.toByteArray());
    }

    /** Encodes events without names into one frame. */
    Frame nameless(List<byte[]> data) {
        ByteArrayOutputStream events = new ByteArrayOutputStream();
        for (byte[] each : data) {
            events.writeBytes("data: ".getBytes(StandardCharsets.US_ASCII));
            events.writeBytes(each);
            events.writeBytes("\n\n".getBytes(StandardCharsets.US_ASCII));
        }
        return frame(events.toByteArray());
    }

    private Frame frame(byte[] plain) {
        deflater.reset();
        deflater.setInput(plain);
        ByteArrayOutputStream deflated = new ByteArrayOutputStream(plain.length / 8 + 64);
        int written = CHUNK;
        // The flush is complete when the output no longer fills the chunk.
        while (written == CHUNK) {
            written = deflater.deflate(chunk, 0, CHUNK, Deflater.FULL_FLUSH);
            deflated.write(chunk, 0, written);
        }
        return new Frame(plain, deflated.toByteArray());
    }

    @Override
    public void close() {
        deflater.end();
    }
}
