package io.weir.tracing;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.semconv.ClientAttributes;
import io.opentelemetry.semconv.ErrorAttributes;
import io.opentelemetry.semconv.HttpAttributes;
import io.opentelemetry.semconv.NetworkAttributes;
import io.opentelemetry.semconv.ServerAttributes;
import io.opentelemetry.semconv.UrlAttributes;
import io.opentelemetry.semconv.UserAgentAttributes;
import io.weir.door.RequestFacts;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import java.net.URI;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Attributes of spans: OpenTelemetry's semantic conventions for HTTP, and the access log's fields as {@code
 * weir.*}.
 */
final class SpanText {

    static final AttributeKey<String> ROUTE = AttributeKey.stringKey("weir.route");
    static final AttributeKey<String> BACKEND = AttributeKey.stringKey("weir.backend");
    static final AttributeKey<String> DOOR = AttributeKey.stringKey("weir.door");
    static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("weir.outcome");
    static final AttributeKey<String> REASON = AttributeKey.stringKey("weir.reason");
    static final AttributeKey<String> DETAIL = AttributeKey.stringKey("weir.detail");
    static final AttributeKey<String> REQUEST_ID = AttributeKey.stringKey("weir.request_id");
    static final AttributeKey<Long> ATTEMPTS = AttributeKey.longKey("weir.attempts");
    static final AttributeKey<Double> QUEUE_MS = AttributeKey.doubleKey("weir.queue_ms");
    static final AttributeKey<Double> BACKEND_MS = AttributeKey.doubleKey("weir.backend_ms");

    /** The methods in the conventions; callers may send others. */
    private static final Set<String> METHODS =
            Set.of("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE");

    private static final String OTHER_METHOD = "_OTHER";
    private static final String UNNAMED = "HTTP";
    private static final String PROTOCOL = "HTTP/";
    private static final int FIRST_ERROR = 400;
    private static final double NANOS_PER_MILLI = 1e6;

    private SpanText() {}

    /**
     * The name of a span: {@code GET orders}, or {@code GET} without a route. Callers cannot invent names.
     */
    static String name(String method, String route) {
        String nameable = METHODS.contains(method) ? method : UNNAMED;
        return route.isEmpty() ? nameable : nameable + ' ' + route;
    }

    /** Adds the attributes of the request. */
    static void request(Span span, RequestFacts facts) {
        method(span, facts.requestMethod());
        optional(span, UrlAttributes.URL_SCHEME, facts.scheme());
        optional(span, UrlAttributes.URL_PATH, withoutQuery(facts.requestPath()));
        if (facts.protocol().startsWith(PROTOCOL)) {
            String version = facts.protocol().substring(PROTOCOL.length());
            span.setAttribute(NetworkAttributes.NETWORK_PROTOCOL_VERSION, version.equals("2.0") ? "2" : version);
        }
        HttpHeaders headers = facts.headers();
        String host = headers.get(HttpHeaderNames.HOST);
        if (host != null) {
            server(span, host);
        }
        optional(span, UserAgentAttributes.USER_AGENT_ORIGINAL, headers.get(HttpHeaderNames.USER_AGENT));
        optional(span, ClientAttributes.CLIENT_ADDRESS, facts.callerAddress());
        optional(span, REQUEST_ID, facts.requestId());
        optional(span, DOOR, facts.door());
    }

    /** Adds the attributes of an attempt. */
    static void attempt(Span span, Backend backend, Instance instance, String method, String target, int number) {
        method(span, method);
        URI uri = instance.uri();
        server(span, instance.authority());
        if (uri.getPort() < 0) {
            span.setAttribute(ServerAttributes.SERVER_PORT, "https".equals(uri.getScheme()) ? 443 : 80);
        }
        span.setAttribute(
                UrlAttributes.URL_FULL, uri.getScheme() + "://" + instance.authority() + withoutQuery(target));
        span.setAttribute(BACKEND, backend.name());
        if (number > 1) {
            span.setAttribute(HttpAttributes.HTTP_REQUEST_RESEND_COUNT, number - 1);
        }
    }

    /**
     * Adds the attributes of the answer to the caller.
     *
     * @param outcome index in {@link ExchangeOutcomes#words()}
     */
    static void outcome(Span span, int outcome, int status, @Nullable String detail) {
        String word = ExchangeOutcomes.words().get(outcome);
        span.setAttribute(HttpAttributes.HTTP_RESPONSE_STATUS_CODE, status);
        span.setAttribute(OUTCOME, word);
        optional(span, DETAIL, detail);
        if (ExchangeOutcomes.kind(outcome).isTrouble()) {
            failed(span, word.equals("5xx") ? Integer.toString(status) : word);
        }
    }

    /**
     * Adds the attributes of an attempt's result.
     *
     * @param status the status of the answer; 0: no answer
     * @param why the reason why the attempt failed; null: it ended with its answer
     */
    static void attemptOutcome(Span span, int status, @Nullable Reason why) {
        if (status != 0) {
            span.setAttribute(HttpAttributes.HTTP_RESPONSE_STATUS_CODE, status);
        }
        if (why != null) {
            span.setAttribute(OUTCOME, why.word());
        }
        if (why != null && ExchangeOutcomes.kind(ExchangeOutcomes.index(why)).isTrouble()) {
            failed(span, why.word());
        } else if (status >= FIRST_ERROR) {
            failed(span, Integer.toString(status));
        }
    }

    static double millis(long nanos) {
        return nanos / NANOS_PER_MILLI;
    }

    private static void failed(Span span, String type) {
        span.setAttribute(ErrorAttributes.ERROR_TYPE, type);
        span.setStatus(StatusCode.ERROR);
    }

    private static void method(Span span, String method) {
        boolean isKnown = METHODS.contains(method);
        span.setAttribute(HttpAttributes.HTTP_REQUEST_METHOD, isKnown ? method : OTHER_METHOD);
        if (!isKnown) {
            optional(span, HttpAttributes.HTTP_REQUEST_METHOD_ORIGINAL, method);
        }
    }

    private static void server(Span span, String authority) {
        int colon = authority.lastIndexOf(':');
        // Not a colon within an IPv6 address.
        boolean hasPort = colon > 0 && authority.indexOf(']', colon) < 0;
        String host = hasPort ? authority.substring(0, colon) : authority;
        boolean isLiteral = host.startsWith("[") && host.endsWith("]");
        span.setAttribute(ServerAttributes.SERVER_ADDRESS, isLiteral ? host.substring(1, host.length() - 1) : host);
        if (hasPort) {
            port(span, authority.substring(colon + 1));
        }
    }

    private static void port(Span span, String digits) {
        try {
            span.setAttribute(ServerAttributes.SERVER_PORT, Integer.parseInt(digits));
        } catch (NumberFormatException e) {
            // The Host header has no valid port, so the span has none.
        }
    }

    /** Without the query, since it may hold secrets. */
    private static String withoutQuery(String target) {
        int query = target.indexOf('?');
        return query < 0 ? target : target.substring(0, query);
    }

    private static void optional(Span span, AttributeKey<String> key, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            span.setAttribute(key, value);
        }
    }
}
