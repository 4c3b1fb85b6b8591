package io.weir.perf.scenario;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The bytes of callers that misbehave: HTTP/1.1 heads, and frames of HTTP/2. */
final class CallerBytes {

    private static final int FRAME_HEAD_BYTES = 9;
    private static final int END_STREAM = 1;
    private static final int END_HEADERS = 4;
    private static final String AUTHORITY = "weir.test";

    /** The types of frames (RFC 9113, 6). */
    enum Frame {
        DATA(0),
        HEADERS(1),
        RESET(3),
        SETTINGS(4),
        PING(6),
        WINDOW_UPDATE(8),
        CONTINUATION(9);

        private final int type;

        Frame(int type) {
            this.type = type;
        }

        byte[] bytes(int flags, int stream, byte... payload) {
            return ByteBuffer.allocate(FRAME_HEAD_BYTES + payload.length)
                    .put((byte) 0)
                    .putShort((short) payload.length)
                    .put((byte) type)
                    .put((byte) flags)
                    .putInt(stream)
                    .put(payload)
                    .array();
        }
    }

    private CallerBytes() {}

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    static byte[] concat(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    static byte[] repeat(int times, byte... bytes) {
        byte[][] parts = new byte[times][];
        Arrays.fill(parts, bytes);
        return concat(parts);
    }

    /** The fields of a head that is complete after an empty line. */
    static byte[] head(String requestLine, String... fields) {
        StringBuilder head = new StringBuilder(requestLine + " HTTP/1.1\r\nHost: " + AUTHORITY + "\r\n");
        for (String field : fields) {
            head.append(field).append("\r\n");
        }
        return ascii(head.toString());
    }

    static byte[] get(String path) {
        return concat(head("GET " + path), ascii("\r\n"));
    }

    /** The preface of HTTP/2, with the window of each stream. */
    static byte[] preface(int window) {
        byte[] setting =
                ByteBuffer.allocate(6).putShort((short) 4).putInt(window).array();
        return concat(ascii("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Frame.SETTINGS.bytes(0, 0, setting));
    }

    /** A GET, or a POST whose body is still to come. */
    static byte[] headers(int stream, String path, boolean isComplete) {
        // Of HPACK's static table, without Huffman's code: method, scheme, path and authority.
        byte[] fields = concat(
                new byte[] {(byte) (isComplete ? 0x82 : 0x83), (byte) 0x86, 0x04, (byte) path.length()},
                ascii(path),
                new byte[] {0x01, (byte) AUTHORITY.length()},
                ascii(AUTHORITY));
        return Frame.HEADERS.bytes(isComplete ? END_STREAM | END_HEADERS : END_HEADERS, stream, fields);
    }

    /** Requests on many streams, each reset at once. */
    static byte[] rapidResets(int count, String path) {
        byte[][] frames = new byte[2 * count][];
        for (int i = 0; i < count; i++) {
            int stream = 2 * i + 1;
            frames[2 * i] = headers(stream, path, true);
            frames[2 * i + 1] = Frame.RESET.bytes(0, stream, (byte) 0, (byte) 0, (byte) 0, (byte) 8);
        }
        return concat(frames);
    }

    /** A window of so many bytes more. */
    static byte[] openWindow(int stream, int bytes) {
        return Frame.WINDOW_UPDATE.bytes(
                0, stream, ByteBuffer.allocate(4).putInt(bytes).array());
    }
}
