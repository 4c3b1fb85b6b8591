package io.weir.compression;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.util.unit.DataSize;

class CompressionRuleTest {

    private static final long LARGE = 5_000;

    private final CompressionMemory memory = new CompressionMemory(CompressionMemory.STATE_BYTES);
    private final CompressionRule rule = new CompressionRule(
            new CompressionProperties(
                    DataSize.ofKilobytes(1), List.of("text/*", "application/json", "application/*+json")),
            memory);
    private final HttpHeaders request = new DefaultHttpHeaders().set("Accept-Encoding", "gzip");
    private final HttpHeaders answer = new DefaultHttpHeaders().set("Content-Type", "application/json");

    private boolean applies(int status, long length) {
        return rule.applies(HttpMethod.GET, request, status, answer, length);
    }

    @Test
    void appliesToLargeAnswersOfItsTypes() {
        assertThat(applies(200, LARGE)).isTrue();
        assertThat(applies(200, CompressionRule.UNKNOWN_LENGTH)).isTrue();
        assertThat(applies(404, 1024)).isTrue();
        assertThat(applies(503, LARGE)).isTrue();
        assertThat(answer.get("Vary")).isEqualTo("accept-encoding");
    }

    @Test
    void leavesAnswersAloneThatAreSmallOrHaveNoBody() {
        assertThat(applies(200, 1023)).isFalse();
        assertThat(applies(200, 0)).isFalse();
        assertThat(applies(204, CompressionRule.UNKNOWN_LENGTH)).isFalse();
        assertThat(applies(205, CompressionRule.UNKNOWN_LENGTH)).isFalse();
        assertThat(applies(206, LARGE)).isFalse();
        assertThat(answer.contains("Vary")).isFalse();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            Content-Encoding | br
            Content-Encoding | identity
            Content-Range    | bytes 0-9/100
            Cache-Control    | max-age=5, No-Transform
            Content-Digest   | sha-256=:x:
            Repr-Digest      | sha-256=:x:
            Content-MD5      | x
            Content-Type     | image/png
            Content-Type     | application/grpc
            Content-Type     | application/grpc+json
            Content-Type     | json
            """)
    void leavesAnswersAloneThatMustNotChange(String name, String value) {
        answer.set(name, value);

        assertThat(applies(200, LARGE)).isFalse();
        assertThat(answer.contains("Vary")).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "text/html;charset=UTF-8, true",
        "TEXT/HTML, true",
        "text/event-stream, true",
        "application/problem+json, true",
        "application/vnd.api+json; v=1, true",
        "application/jsonp, false",
        "application/json5+xml, false"
    })
    void matchesTypesAndPatterns(String type, boolean isCompressed) {
        answer.set("Content-Type", type);

        assertThat(applies(200, LARGE)).isEqualTo(isCompressed);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "none", textBlock = """
            gzip                         | true
            br, GZIP;q=0.5               | true
            x-gzip                       | true
            *                            | true
            *;q=0.1, br                  | true
            gzip;q=0                     | false
            gzip;q=0, *                  | false
            gzip;q=0.0001                | true
            identity, gzip;q=0.5         | false
            identity;q=0.5, gzip         | true
            gzip;q=2                     | false
            gzip;q=x                     | false
            br, zstd                     | false
            deflate                      | false
            ''                           | false
            none                         | false
            """)
    void followsTheCallersWeights(@Nullable String accepted, boolean isCompressed) {
        request.remove("Accept-Encoding");
        if (accepted != null) {
            request.set("Accept-Encoding", accepted);
        }

        assertThat(applies(200, LARGE)).isEqualTo(isCompressed);
        assertThat(answer.get("Vary")).as("in both forms").isEqualTo("accept-encoding");
    }

    @Test
    void doesNotDoubleVary() {
        answer.set("Vary", "Accept, Accept-Encoding");

        assertThat(applies(200, LARGE)).isTrue();
        assertThat(answer.getAll("Vary")).containsExactly("Accept, Accept-Encoding");
    }

    @Test
    void changesTheHeadOfACompressedAnswer() {
        answer.set("ETag", "\"x\"").set("Content-Length", "5000").set("Accept-Ranges", "bytes");

        CompressionRule.encode(answer);

        assertThat(answer.get("Content-Encoding")).isEqualTo("gzip");
        assertThat(answer.get("ETag")).isEqualTo("W/\"x\"");
        assertThat(answer.contains("Content-Length")).isFalse();
        assertThat(answer.contains("Accept-Ranges")).isFalse();

        CompressionRule.encode(answer);
        assertThat(answer.get("ETag")).as("once").isEqualTo("W/\"x\"");
    }

    @Test
    void givesHeadAndNotModifiedTheFieldsOfGet() {
        answer.set("ETag", "\"x\"").set("Content-Length", "5000");
        assertThat(rule.applies(HttpMethod.HEAD, request, 200, answer, LARGE)).isFalse();
        assertThat(answer.get("Content-Encoding")).isEqualTo("gzip");
        assertThat(answer.contains("Content-Length")).isFalse();
        assertThat(answer.get("ETag")).isEqualTo("W/\"x\"");

        HttpHeaders notModified = new DefaultHttpHeaders().set("ETag", "\"x\"");
        assertThat(rule.applies(HttpMethod.GET, request, 304, notModified, 0)).isFalse();
        assertThat(notModified.get("ETag")).isEqualTo("W/\"x\"");
        assertThat(notModified.get("Vary")).isEqualTo("accept-encoding");
        assertThat(notModified.contains("Content-Encoding")).isFalse();
    }

    @Test
    void passesAnswersAsTheyAreWhileTheMemoryIsUsed() {
        memory.begin();
        assertThat(applies(200, LARGE)).isFalse();

        memory.end();
        assertThat(applies(200, LARGE)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "text/html, true",
        "text/*, true",
        "application/*+json, true",
        "*/*, false",
        "text, false",
        "text/, false",
        "text/html;q=1, false",
        "text/h*, false"
    })
    void knowsValidPatterns(String type, boolean isValid) {
        assertThat(Pattern.matches(MediaTypes.FORM, type)).isEqualTo(isValid);
    }
}
