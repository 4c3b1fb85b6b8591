package io.weir.accesslog;

import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Writes a JSON object (RFC 8259) on one line, in UTF-8, into a reusable buffer.
 *
 * <p>A value sent by a caller can neither break the line nor add a member. Quotes and backslashes are
 * escaped. So is every control, format and separator character, since logs are also read in terminals: this
 * includes the C1 controls, bidirectional overrides and U+2028. An unpaired surrogate becomes U+FFFD.
 *
 * <p>Not thread-safe: each thread has its own.
 */
final class JsonLine {

    private static final byte[] HEX = ascii("0123456789abcdef");
    private static final int MAX_ESCAPE_BYTES = 6;
    private static final int MAX_NUMBER_BYTES = 24;
    private static final int TIMESTAMP_BYTES = 24;
    private static final long DAY_MILLIS = TimeUnit.DAYS.toMillis(1);
    private static final Map<LogField, byte[]> KEYS = new EnumMap<>(LogField.class);

    static {
        for (LogField field : LogField.values()) {
            KEYS.put(field, key(field.name().toLowerCase(Locale.ROOT)));
        }
    }

    private static final char REPLACEMENT = '\uFFFD';
    private static final char ELLIPSIS = '\u2026';

    private byte[] bytes = new byte[1024];
    private Set<LogField> excluded = Set.of();
    private int length;
    private long day = Long.MIN_VALUE;
    private byte[] dayText = new byte[0];

    /** The bytes of a member's name, with the comma before and the colon after it. */
    static byte[] key(String name) {
        return ascii(",\"" + name + "\":");
    }

    private static byte[] keyOf(LogField field) {
        return Objects.requireNonNull(KEYS.get(field));
    }

    /** Begins a new line without these members. */
    void begin(Set<LogField> excludedFields) {
        excluded = excludedFields;
        length = 0;
    }

    /** Adds a string; a value longer than the limit is truncated and ends in an ellipsis. */
    void text(LogField field, CharSequence value, int limit) {
        if (!excluded.contains(field)) {
            text(keyOf(field), value, limit);
        }
    }

    /** The same for a member that is not of the log itself. */
    void text(byte[] key, CharSequence value, int limit) {
        int end = Math.min(value.length(), limit);
        ensureCapacity(key.length + MAX_ESCAPE_BYTES * (end + 1) + 2);
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
                escaped(Character.isSurrogate(c) ? REPLACEMENT : c);
            }
        }
        if (end < value.length()) {
            nonAscii(ELLIPSIS);
        }
        put('"');
    }

    /** Adds an integer. */
    void number(LogField field, long value) {
        if (excluded.contains(field)) {
            return;
        }
        byte[] key = keyOf(field);
        ensureCapacity(key.length + MAX_NUMBER_BYTES);
        raw(key);
        decimal(value);
    }

    /** Adds a duration in milliseconds, with three decimals; a negative one counts as 0. */
    void millis(LogField field, long nanos) {
        if (excluded.contains(field)) {
            return;
        }
        byte[] key = keyOf(field);
        ensureCapacity(key.length + MAX_NUMBER_BYTES);
        raw(key);
        long micros = TimeUnit.NANOSECONDS.toMicros(Math.max(0, nanos));
        decimal(micros / 1000);
        put('.');
        digits(micros % 1000, 3);
    }

    /** Adds a time in the format of RFC 3339, in UTC. */
    void timestamp(LogField field, long epochMillis) {
        if (excluded.contains(field)) {
            return;
        }
        byte[] key = keyOf(field);
        ensureCapacity(key.length + 2 + TIMESTAMP_BYTES + MAX_NUMBER_BYTES);
        raw(key);
        put('"');
        long epochDay = Math.floorDiv(epochMillis, DAY_MILLIS);
        if (epochDay != day) {
            dayText = ascii(LocalDate.ofEpochDay(epochDay).toString());
            day = epochDay;
        }
        raw(dayText);
        long millisOfDay = Math.floorMod(epochMillis, DAY_MILLIS);
        put('T');
        digits(millisOfDay / 3_600_000, 2);
        put(':');
        digits(millisOfDay / 60_000 % 60, 2);
        put(':');
        digits(millisOfDay / 1000 % 60, 2);
        put('.');
        digits(millisOfDay % 1000, 3);
        put('Z');
        put('"');
    }

    /** Ends the line; returns a copy of it, with its line feed. */
    byte[] end() {
        ensureCapacity(3);
        if (length == 0) {
            put(',');
        }
        put('}');
        put('\n');
        byte[] line = Arrays.copyOf(bytes, length);
        // Replaces the comma before the first member.
        line[0] = '{';
        return line;
    }

    private void escaped(char c) {
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
            default -> nonAscii(c);
        }
    }

    /** A non-ASCII character of the basic multilingual plane. */
    private void nonAscii(char c) {
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
        for (long remainder = value; remainder >= 10; remainder /= 10) {
            width++;
        }
        digits(value, width);
    }

    private void digits(long value, int width) {
        long remainder = value;
        for (int i = length + width - 1; i >= length; i--) {
            bytes[i] = (byte) ('0' + remainder % 10);
            remainder /= 10;
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

    private void ensureCapacity(int more) {
        if (bytes.length - length < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
