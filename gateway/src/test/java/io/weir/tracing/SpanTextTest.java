package io.weir.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.weir.door.RequestFacts;
import io.weir.engine.ExchangeOutcomes;
import io.weir.outcome.Refusal;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class SpanTextTest {

    private final SpanBuilder spans =
            SdkTracerProvider.builder().build().get("test").spanBuilder("one");
    private final ReadableSpan span = (ReadableSpan) spans.startSpan();

    /** Facts of a request. */
    private record Facts(String requestMethod, String requestPath, String protocol, HttpHeaders headers)
            implements RequestFacts {

        @Override
        public String scheme() {
            return "https";
        }

        @Override
        public String requestId() {
            return "";
        }

        @Override
        public int refusalBytes(Refusal refusal) {
            return 0;
        }

        @Override
        public @Nullable String traceId() {
            return null;
        }

        @Override
        public String callerAddress() {
            return "192.0.2.7";
        }

        @Override
        public String door() {
            return "none";
        }
    }

    @ParameterizedTest
    @CsvSource({
        "GET, orders, GET orders",
        "GET, '', GET",
        "get, orders, HTTP orders",
        "BREW, '', HTTP",
        "'', '', HTTP",
    })
    void namesSpansByKnownMethodAndRoute(String method, String route, String name) {
        assertThat(SpanText.name(method, route)).isEqualTo(name);
    }

    @ParameterizedTest
    @CsvSource({
        "shop.example, shop.example, ",
        "shop.example:8443, shop.example, 8443",
        "[2001:db8::7], 2001:db8::7, ",
        "[2001:db8::7]:8443, 2001:db8::7, 8443",
        "shop.example:, shop.example, ",
    })
    void splitsHostAndPort(String host, String address, @Nullable Long port) {
        SpanText.request((Span) span, facts("GET", "/", new DefaultHttpHeaders().set("host", host)));

        assertThat(text("server.address")).isEqualTo(address);
        assertThat(span.getAttribute(AttributeKey.longKey("server.port"))).isEqualTo(port);
    }

    @Test
    void leavesOutTheQuery() {
        SpanText.request((Span) span, facts("GET", "/orders?card=4111", new DefaultHttpHeaders()));

        assertThat(text("url.path")).isEqualTo("/orders");
        assertThat(text("url.scheme")).isEqualTo("https");
        assertThat(text("network.protocol.version")).isEqualTo("2");
        assertThat(text("server.address")).isNull();
        assertThat(text("weir.request_id")).isNull();
    }

    @Test
    void reportsAnUnknownMethodSeparately() {
        SpanText.request((Span) span, facts("BREW", "/", new DefaultHttpHeaders()));

        assertThat(text("http.request.method")).isEqualTo("_OTHER");
        assertThat(text("http.request.method_original")).isEqualTo("BREW");
    }

    static List<String> words() {
        return ExchangeOutcomes.words();
    }

    /** The same outcomes that the dashboard counts as trouble. */
    @ParameterizedTest
    @MethodSource("words")
    void isAnErrorIfTheOutcomeIsTrouble(String word) {
        int outcome = ExchangeOutcomes.words().indexOf(word);

        SpanText.outcome((Span) span, outcome, 503, null);

        assertThat(text("weir.outcome")).isEqualTo(word);
        if (ExchangeOutcomes.kind(outcome).isTrouble()) {
            assertThat(span.toSpanData().getStatus().getStatusCode()).isEqualTo(StatusCode.ERROR);
            assertThat(text("error.type")).isEqualTo(word.equals("5xx") ? "503" : word);
        } else {
            assertThat(span.toSpanData().getStatus().getStatusCode()).isEqualTo(StatusCode.UNSET);
            assertThat(text("error.type")).isNull();
        }
    }

    private static Facts facts(String method, String path, HttpHeaders headers) {
        return new Facts(method, path, "HTTP/2.0", headers);
    }

    private @Nullable String text(String key) {
        return span.getAttribute(AttributeKey.stringKey(key));
    }
}
