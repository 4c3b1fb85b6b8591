package io.weir.warmup;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The head of a request or answer, as far as a warm-up needs it.
 *
 * @param start the first line
 * @param contentLength the size of the body
 * @param closes whether the connection ends with this message
 */
record HttpHead(String start, int contentLength, boolean closes) {

    private static final int BYTES_MAX = 16 * 1024;
    private static final String CONTENT_LENGTH = "\r\ncontent-length:";
    private static final String CLOSE = "\r\nconnection: close\r\n";

    /**
     * Reads a head.
     *
     * @return null: the connection has ended
     * @throws IOException if there is no head of a sensible size
     */
    static @Nullable HttpHead read(InputStream in) throws IOException {
        byte[] bytes = new byte[1024];
        int length = 0;
        while (!endsWithEmptyLine(bytes, length)) {
            int next = in.read();
            if (next < 0) {
                return null;
            }
            if (length == BYTES_MAX) {
                throw new IOException("head: more than " + BYTES_MAX + " bytes");
            }
            if (length == bytes.length) {
                bytes = Arrays.copyOf(bytes, 2 * length);
            }
            bytes[length++] = (byte) next;
        }
        String head = new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        String fields = head.toLowerCase(Locale.ROOT);
        return new HttpHead(head.substring(0, head.indexOf('\r')), contentLength(fields), fields.contains(CLOSE));
    }

    private static boolean endsWithEmptyLine(byte[] bytes, int length) {
        return length >= 4
                && bytes[length - 1] == '\n'
                && bytes[length - 2] == '\r'
                && bytes[length - 3] == '\n'
                && bytes[length - 4] == '\r';
    }

    private static int contentLength(String fields) throws IOException {
        int field = fields.indexOf(CONTENT_LENGTH);
        if (field < 0) {
            return 0;
        }
        int value = field + CONTENT_LENGTH.length();
        String number = fields.substring(value, fields.indexOf('\r', value)).strip();
        try {
            return Integer.parseInt(number);
        } catch (NumberFormatException e) {
            throw new IOException("content-length: " + number + " (expected: a number)", e);
        }
    }
}
