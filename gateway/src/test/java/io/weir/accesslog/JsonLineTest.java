package io.weir.accesslog;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.EnumSet;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class JsonLineTest {

    private static final LogField A = LogField.PATH;
    private static final LogField B = LogField.BYTES;

    private final JsonLine line = new JsonLine();

    @Test
    void writesAnObjectOnOneLine() {
        line.begin(Set.of());
        line.text(A, "x", 10);
        line.number(B, 7);

        assertThat(end()).isEqualTo("{\"path\":\"x\",\"bytes\":7}\n");
    }

    @Test
    void leavesOutWhatIsExcluded() {
        line.begin(EnumSet.complementOf(EnumSet.of(A)));
        line.timestamp(LogField.TIMESTAMP, 0);
        line.text(A, "x", 10);
        line.millis(LogField.TOTAL_MS, 1);
        line.number(B, 7);
        assertThat(end()).isEqualTo("{\"path\":\"x\"}\n");

        line.begin(EnumSet.allOf(LogField.class));
        line.text(A, "x", 10);
        assertThat(end()).isEqualTo("{}\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "plain",
                "\",\"outcome\":\"2xx",
                "back\\slash\\",
                "line\nfeed\r\n{\"a\":1}",
                "tab\tnull\u0000escape\u001b[31m",
                "del\u007f c1 \u0085 \u009b31m",
                "line \u2028 paragraph \u2029 separators",
                "override \u202e and isolate \u2066 and mark \ufeff",
                "\u00e4\u00f6\u00fc \u20ac \u4e2d",
                "\ud83d\ude00"
            })
    void keepsEveryValueOnOneLine(String value) {
        line.begin(Set.of());
        line.text(A, value, 1_000);
        line.text(B, "after", 10);

        String written = end();

        JsonNode read = JsonMapper.shared().readTree(written);
        assertThat(read.size()).isEqualTo(2);
        assertThat(read.get("path").stringValue()).isEqualTo(value);
        assertThat(read.get("bytes").stringValue()).isEqualTo("after");
        assertThat(written.strip())
                .as("no control, format or separator characters")
                .doesNotMatch("(?s).*[\\p{Cntrl}\\p{Cf}\\p{Zl}\\p{Zp}].*");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\ud83d", "\ude00", "a\ud83db", "\ude00\ud83d", "\ud83d\ud83d\ude00\ude00"})
    void replacesUnpairedSurrogates(String value) {
        line.begin(Set.of());
        line.text(A, value, 1_000);

        String read = JsonMapper.shared().readTree(end()).get("path").stringValue();

        String expected = value.replaceAll("[\\x{D800}-\\x{DBFF}](?![\\x{DC00}-\\x{DFFF}])", "\ufffd")
                .replaceAll("(?<![\\x{D800}-\\x{DBFF}])[\\x{DC00}-\\x{DFFF}]", "\ufffd");
        assertThat(read).isEqualTo(expected).contains("\ufffd");
    }

    @Test
    void writesOneObjectOnOneLineForRandomValues() {
        long seed = 42;
        RandomGenerator random = RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
        for (int round = 0; round < 5_000; round++) {
            StringBuilder value = new StringBuilder();
            for (int i = random.nextInt(20); i > 0; i--) {
                // Half of the characters are from the range with most special cases.
                value.append((char) (random.nextBoolean() ? random.nextInt(0x100) : random.nextInt(0x10000)));
            }
            line.begin(Set.of());
            line.text(A, value, 15);
            line.text(B, value, 1_000);

            String written = end();

            assertThat(written.indexOf('\n'))
                    .as("seed %d, round %d", seed, round)
                    .isEqualTo(written.length() - 1);
            assertThat(JsonMapper.shared().readTree(written).size())
                    .as("seed %d, round %d: %s", seed, round, written)
                    .isEqualTo(2);
        }
    }

    @Test
    void truncatesALongValueWithAnEllipsis() {
        line.begin(Set.of());
        line.text(A, "abcdef", 3);
        line.text(B, "abc", 3);

        assertThat(end()).isEqualTo("{\"path\":\"abc\u2026\",\"bytes\":\"abc\"}\n");
    }

    @Test
    void replacesACharacterCutByTheLimit() {
        line.begin(Set.of());
        line.text(A, "ab\ud83d\ude00", 3);

        assertThat(end()).isEqualTo("{\"path\":\"ab\ufffd\u2026\"}\n");
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0.000",
        "999, 0.000",
        "1000, 0.001",
        "212000, 0.212",
        "1000000, 1.000",
        "12345678, 12.345",
        "61001002003, 61001.002",
        "-5, 0.000"
    })
    void writesMillisecondsWithThreeDecimals(long nanos, String expected) {
        line.begin(Set.of());
        line.millis(A, nanos);

        assertThat(end()).isEqualTo("{\"path\":" + expected + "}\n");
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 7, 10, 99, 100, 123_456_789, Long.MAX_VALUE, -1, Long.MIN_VALUE})
    void writesNumbers(long value) {
        line.begin(Set.of());
        line.number(A, value);

        assertThat(end()).isEqualTo("{\"path\":" + value + "}\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1969-12-31T23:59:59.999Z",
                "1970-01-01T00:00:00.000Z",
                "2024-02-29T23:59:59.001Z",
                "2026-03-01T12:34:56.789Z",
                "2026-03-01T00:00:00.010Z"
            })
    void writesTimestampsInRfc3339AndUtc(String timestamp) {
        line.begin(Set.of());
        line.timestamp(A, Instant.parse(timestamp).toEpochMilli());

        assertThat(end()).isEqualTo("{\"path\":\"" + timestamp + "\"}\n");
    }

    @Test
    void growsForALongValue() {
        String value = "\u0001".repeat(5_000);
        line.begin(Set.of());
        line.text(A, value, 10_000);

        assertThat(JsonMapper.shared().readTree(end()).get("path").stringValue())
                .isEqualTo(value);
    }

    @Test
    void reusesItsBufferWithoutChangingEarlierLines() {
        line.begin(Set.of());
        line.text(A, "first, and longer", 100);
        byte[] first = line.end();
        line.begin(Set.of());
        line.text(B, "second", 100);
        byte[] second = line.end();

        assertThat(new String(first, StandardCharsets.UTF_8)).isEqualTo("{\"path\":\"first, and longer\"}\n");
        assertThat(new String(second, StandardCharsets.UTF_8)).isEqualTo("{\"bytes\":\"second\"}\n");
    }

    /** The line; fails if it is not UTF-8. */
    private String end() {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(line.end()))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new AssertionError(e);
        }
    }
}
