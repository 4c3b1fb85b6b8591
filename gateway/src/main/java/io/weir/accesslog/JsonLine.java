package io.weir.accesslog;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * Writes an object of JSON (RFC 8259) on one line, in UTF-8, into a buffer that is used again for the next.
 *
 * <p>Whatever a caller puts into a value, the line stays one line and the value stays its value: quotes and backslashes
 * are escaped, and so is every character that controls, formats or separates lines, the C1 controls, bidirectional
 * overrides and U+2028 included, since a log is read by terminals, too. A surrogate without its other half becomes
 * U+FFFD.
 *
 * <p>Not thread-safe: one for each thread.
 */
final class JsonLine {

    private static final byte[] HEX = ascii("0123456789abcdef");
    private static final int LONGEST_ESCAPE = 6;
    private static final int LONGEST_NUMBER = 24;
    private static final int TIMESTAMP = 24;
    private static final long DAY_MILLIS = TimeUnit.DAYS.toMillis(1);
    private static final char REPLACEMENT = '\uFFFD';
    private static final char ELLIPSIS = '\u2026';

    private byte[] bytes = new byte[1024];
    private int length;
    private long day = Long.MIN_VALUE;
    private byte[] dayText = new byte[0];

    /** A member's name with all that stands around it. */
    static byte[] key(String name) {
        return ascii(",\"" + name + "\":");
    }

    /** Begins a line. */
    void begin() {
        length = 0;
    }

    /** A string; what is longer than the limit is cut off, and an ellipsis stands for it. */
    void text(byte[] key, CharSequence value, int limit) {
        int end = Math.min(value.length(), limit);
        ensure(key.length + LONGEST_ESCAPE * (end + 1) + 2);
        raw(key);
        put('"');
        for (int i = 0; i < end; i++) {
            char c = value.charAt(i);
            if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') {
                bytes[length++] = (byte) c;
            } else if (Character.isHighSurrogate(c) && i + 1 < end && Character.isLowSurrogate(value.charAt(i + 1))) {
                i++;
                supplementary(Character.toCodePoint(c, value.charAt(i)));
            } else {
                special(Character.isSurrogate(c) ? REPLACEMENT : c);
            }
        }
        if (end < value.length()) {
            basic(ELLIPSIS);
        }
        put('"');
    }

    /** A whole number. */
    void number(byte[] key, long value) {
        ensure(key.length + LONGEST_NUMBER);
        raw(key);
        decimal(value);
    }

    /** A time in milliseconds, with microseconds behind the point. */
    void millis(byte[] key, long nanos) {
        ensure(key.length + LONGEST_NUMBER);
        raw(key);
        long micros = TimeUnit.NANOSECONDS.toMicros(Math.max(0, nanos));
        decimal(micros / 1000);
        put('.');
        digits(micros % 1000, 3);
    }

    /** A moment, as RFC 3339 writes it, in UTC. */
    void timestamp(byte[] key, long epochMillis) {
        ensure(key.length + 2 + TIMESTAMP + LONGEST_NUMBER);
        raw(key);
        put('"');
        long epochDay = Math.floorDiv(epochMillis, DAY_MILLIS);
        if (epochDay != day) {
            dayText = ascii(LocalDate.ofEpochDay(epochDay).toString());
            day = epochDay;
        }
        raw(dayText);
        long ofDay = Math.floorMod(epochMillis, DAY_MILLIS);
        put('T');
        digits(ofDay / 3_600_000, 2);
        put(':');
        digits(ofDay / 60_000 % 60, 2);
        put(':');
        digits(ofDay / 1000 % 60, 2);
        put('.');
        digits(ofDay % 1000, 3);
        put('Z');
        put('"');
    }

    /** Ends the line, and copies it; with its line feed. */
    byte[] end() {
        ensure(2);
        put('}');
        put('\n');
        byte[] line = Arrays.copyOf(bytes, length);
        // Every member came with a comma before it.
        line[0] = '{';
        return line;
    }

    private void special(char c) {
        if (c == '"' || c == '\\') {
            put('\\');
            put(c);
            return;
        }
        switch (Character.getType(c)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> {
                put('\\');
                put('u');
                for (int shift = 12; shift >= 0; shift -= 4) {
                    bytes[length++] = HEX[(c >> shift) & 0xf];
                }
            }
            default -> basic(c);
        }
    }

    /** A character of the basic plane, beyond ASCII. */
    private void basic(char c) {
        if (c < 0x800) {
            put(0xc0 | (c >> 6));
        } else {
            put(0xe0 | (c >> 12));
            put(0x80 | ((c >> 6) & 0x3f));
        }
        put(0x80 | (c & 0x3f));
    }

    private void supplementary(int codePoint) {
        put(0xf0 | (codePoint >> 18));
        put(0x80 | ((codePoint >> 12) & 0x3f));
        put(0x80 | ((codePoint >> 6) & 0x3f));
        put(0x80 | (codePoint & 0x3f));
    }

    private void decimal(long value) {
        if (value < 0) {
            raw(ascii(Long.toString(value)));
            return;
        }
        int width = 1;
        for (long rest = value; rest >= 10; rest /= 10) {
            width++;
        }
        digits(value, width);
    }

    private void digits(long value, int width) {
        long rest = value;
        for (int i = length + width - 1; i >= length; i--) {
            bytes[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        length += width;
    }

    private void raw(byte[] text) {
        System.arraycopy(text, 0, bytes, length, text.length);
        length += text.length;
    }

    private void put(int b) {
        bytes[length++] = (byte) b;
    }

    private void ensure(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
