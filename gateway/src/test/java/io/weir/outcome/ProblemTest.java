package io.weir.outcome;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ProblemTest {

    /** With characters that JSON escapes: a caller may choose it. */
    private static final String ID = "req-7\"\\";

    private final HttpHeaders headers = new DefaultHttpHeaders();

    private static JsonNode body(Refusal refusal) {
        ByteBuf body = Problem.body(refusal, ID, UnpooledByteBufAllocator.DEFAULT);
        try {
            assertThat(Problem.length(refusal, ID)).isEqualTo(body.readableBytes());
            return JsonMapper.shared().readTree(body.toString(StandardCharsets.UTF_8));
        } finally {
            body.release();
        }
    }

    @ParameterizedTest
    @EnumSource(Reason.class)
    void bodyAndProxyStatusHaveTheReason(Reason reason) {
        Refusal refusal = Refusal.of(reason, null);
        Problem.writeHead(refusal, headers);

        JsonNode body = body(refusal);
        assertThat(body.get("type").asString()).isEqualTo("urn:weir:" + reason.word());
        assertThat(body.get("title").asString()).isNotBlank();
        assertThat(body.get("status").asInt()).isEqualTo(reason.status().code());
        assertThat(body.has("detail")).isFalse();
        assertThat(body.get("request-id").asString()).isEqualTo(ID);
        assertThat(headers.get("Proxy-Status"))
                .isEqualTo("weir; error=" + reason.proxyError() + "; details=\"" + reason.word() + '"');
        assertThat(headers.get("Content-Type")).isEqualTo("application/problem+json");
        assertThat(headers.get("Cache-Control")).isEqualTo("no-store");
    }

    @Test
    void retryAfterIsInWholeSecondsAndInMilliseconds() {
        Refusal refusal = new Refusal(Reason.CIRCUIT_OPEN, null, 1_250);
        Problem.writeHead(refusal, headers);

        assertThat(headers.get("Retry-After")).isEqualTo("2");
        assertThat(body(refusal).get("retry-after-ms").asLong()).isEqualTo(1_250);
    }

    @Test
    void escapesTheDetail() {
        String nasty = "a\"b\\c\n\u0000\u001f<é€😀>";

        assertThat(body(Refusal.of(Reason.BAD_REQUEST, nasty)).get("detail").asString())
                .isEqualTo(nasty);
    }

    @Test
    void grpcAnswerIsTrailersOnly() {
        Problem.writeGrpc(new Refusal(Reason.DEADLINE_EXCEEDED, null, 0), headers);

        assertThat(headers.get("content-type")).isEqualTo("application/grpc");
        assertThat(headers.get("grpc-status")).isEqualTo("4");
        assertThat(headers.get("grpc-message")).isEqualTo("deadline-exceeded");
    }

    @Test
    void recognisesGrpcByContentType() {
        assertThat(Problem.isGrpc(new DefaultHttpHeaders().set("content-type", "application/grpc+proto")))
                .isTrue();
        assertThat(Problem.isGrpc(new DefaultHttpHeaders().set("content-type", "application/json")))
                .isFalse();
        assertThat(Problem.isGrpc(new DefaultHttpHeaders())).isFalse();
    }
}
