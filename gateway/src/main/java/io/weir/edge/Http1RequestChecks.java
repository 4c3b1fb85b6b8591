package io.weir.edge;

import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** The checks of an HTTP/1 request that Netty's decoder has decoded or rejected. Pure functions. */
final class Http1RequestChecks {

    /**
     * The refusal of a first line that names no protocol, such as a malformed preface of HTTP/2. It is
     * reported but not written, since the caller does not use HTTP/1 (RFC 9113, 3.4).
     */
    static final Refusal NO_PROTOCOL =
            Refusal.of(Reason.BAD_REQUEST, "protocol: none (expected: HTTP/1.1, HTTP/1.0 or HTTP/2)");

    private static final int DETAIL_MAX_CHARS = 160;
    private static final String INVALID_VERSION = "invalid version format: ";

    private Http1RequestChecks() {}

    /** The refusal of a request; null if the request may be passed on. */
    static @Nullable Refusal check(HttpRequest request, EdgeRules rules) {
        DecoderResult result = request.decoderResult();
        if (result.isFailure()) {
            return refusalOf(result.cause(), rules);
        }
        HttpVersion version = request.protocolVersion();
        // For any other version text, the decoder creates a new object.
        if (!isSame(version, HttpVersion.HTTP_1_1) && !isSame(version, HttpVersion.HTTP_1_0)) {
            return Refusal.of(
                    Reason.BAD_REQUEST, "protocol: " + version.text() + " (expected: HTTP/1.1, HTTP/1.0 or HTTP/2)");
        }
        if (HttpMethod.CONNECT.equals(request.method())) {
            return RequestChecks.connectMethod();
        }
        HttpHeaders headers = request.headers();
        Refusal tooMany = RequestChecks.checkFieldCount(headers.size(), rules);
        if (tooMany != null) {
            return tooMany;
        }
        String framing = framingError(headers);
        if (framing != null) {
            return Refusal.of(Reason.BAD_REQUEST, abbreviate(framing));
        }
        return checkHost(headers, isSame(version, HttpVersion.HTTP_1_0));
    }

    /** The refusal of a part of a body, or of the trailers behind it; null if it may be passed on. */
    static @Nullable Refusal check(HttpContent content, EdgeRules rules) {
        if (content.decoderResult().isFailure()) {
            return refusalOf(content.decoderResult().cause(), rules);
        }
        return content instanceof LastHttpContent last
                ? RequestChecks.checkFieldCount(last.trailingHeaders().size(), rules)
                : null;
    }

    private static @Nullable Refusal checkHost(HttpHeaders headers, boolean isOptional) {
        Iterator<String> hosts = headers.valueStringIterator(HttpHeaderNames.HOST);
        if (!hosts.hasNext()) {
            return isOptional ? null : RequestChecks.missingHost();
        }
        String host = hosts.next();
        if (hosts.hasNext()) {
            return RequestChecks.severalHosts();
        }
        if (!Authority.isValid(host)) {
            return Refusal.of(
                    Reason.BAD_REQUEST, abbreviate("host: " + host + " (expected: a host, and perhaps a port)"));
        }
        return null;
    }

    /**
     * The error of body framing that Netty's decoder accepts, but that the gateway cannot pass on or other
     * parsers read differently; null if there is none.
     */
    private static @Nullable String framingError(HttpHeaders headers) {
        if (headers.contains(HttpHeaderNames.TRANSFER_ENCODING)) {
            String codings = String.join(", ", headers.getAll(HttpHeaderNames.TRANSFER_ENCODING));
            if (!HttpHeaderValues.CHUNKED.contentEqualsIgnoreCase(codings.strip())) {
                // The gateway would forward the coded body without the name of its coding.
                return "transfer-encoding: " + codings + " (expected: chunked, and nothing else)";
            }
        }
        // A field of a WebSocket draft. Netty's decoder, unlike others, reads the eight bytes after the head
        // as a body.
        return headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY1)
                        && headers.contains(HttpHeaderNames.SEC_WEBSOCKET_KEY2)
                ? "sec-websocket-key1: a handshake before RFC 6455 (expected: sec-websocket-key)"
                : null;
    }

    @SuppressWarnings("ReferenceEquality")
    private static boolean isSame(HttpVersion one, HttpVersion other) {
        return one == other;
    }

    /** The refusal that corresponds to an error of Netty's decoder. */
    static Refusal refusalOf(Throwable cause, EdgeRules rules) {
        if (cause instanceof TooLongHttpLineException) {
            return Refusal.of(Reason.URI_TOO_LONG, "request line: longer than " + rules.maxUriLength() + " bytes");
        }
        if (cause instanceof TooLongHttpHeaderException) {
            return RequestChecks.headerSectionTooLarge(rules);
        }
        String message = cause.getMessage();
        if (message != null && message.startsWith(INVALID_VERSION) && message.indexOf('/') < 0) {
            return NO_PROTOCOL;
        }
        return Refusal.of(Reason.BAD_REQUEST, message == null ? null : abbreviate(message));
    }

    private static String abbreviate(String text) {
        return text.length() <= DETAIL_MAX_CHARS ? text : text.substring(0, DETAIL_MAX_CHARS) + "…";
    }

    /**
     * The method of a refused request; null if the request line is invalid, for which the decoder invents a
     * request.
     */
    static @Nullable String methodOf(@Nullable HttpRequest request) {
        return request == null || request instanceof FullHttpRequest
                ? null
                : request.method().name();
    }

    /** The target of a refused request; null if the request line is invalid. */
    static @Nullable String targetOf(@Nullable HttpRequest request) {
        return request == null || request instanceof FullHttpRequest ? null : request.uri();
    }

    /** The length of a request's body in bytes; -1 if the body is chunked. */
    static long bodyLength(HttpRequest request) {
        return HttpUtil.isTransferEncodingChunked(request) ? -1 : HttpUtil.getContentLength(request, 0L);
    }
}
