package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.HttpConversionUtil;
import io.netty.util.AsciiString;
import java.util.Locale;
import java.util.Set;
import java.util.StringJoiner;

/**
 * Removes hop-by-hop fields (RFC 9110, 7.6.1) from requests and responses.
 *
 * <p>{@code Connection} names further fields to remove. Attackers use that to make a proxy drop fields that
 * it or another proxy has added: {@code Connection: Authorization}, or {@code Connection: X-Forwarded-For}. A
 * sender must not name fields that are meant for all recipients (RFC 9110, 7.6.1). So such fields are kept
 * although {@code Connection} names them: fields that frame or route a message, authenticate the caller,
 * carry a deadline, identify the request, or control caches. Every other named field is removed, before
 * filters can add a field of the same name.
 *
 * <p>{@code TE} is reduced to {@code trailers}, because trailers are passed on; without that value it is
 * removed. {@code Expect} is removed here; the engine sets {@code 100-continue} again if only the beginning
 * of the body is read ahead, so that the backend decides about the rest. {@code Proxy-Authorization} belongs
 * to a client and its forward proxy, and the gateway is none. {@code Proxy-Authenticate} is passed on: a 407
 * must have one (RFC 9110, 15.5.8), and the gateway passes on every status.
 */
public final class HopByHop {

    private static final AsciiString KEEP_ALIVE = AsciiString.cached("keep-alive");
    private static final AsciiString PROXY_CONNECTION = AsciiString.cached("proxy-connection");
    private static final AsciiString HTTP2_SETTINGS = AsciiString.cached("http2-settings");
    /** Netty adds these two to a request that it translates from HTTP/2. */
    private static final AsciiString X_HTTP2_SCHEME = HttpConversionUtil.ExtensionHeaderNames.SCHEME.text();

    private static final AsciiString X_HTTP2_STREAM_ID = HttpConversionUtil.ExtensionHeaderNames.STREAM_ID.text();
    private static final AsciiString TRAILERS = AsciiString.cached("trailers");

    private static final AsciiString[] REMOVED = {
        KEEP_ALIVE,
        PROXY_CONNECTION,
        HttpHeaderNames.PROXY_AUTHORIZATION,
        HttpHeaderNames.TRANSFER_ENCODING,
        HttpHeaderNames.UPGRADE,
        HttpHeaderNames.EXPECT,
        HTTP2_SETTINGS,
        X_HTTP2_SCHEME,
        X_HTTP2_STREAM_ID,
    };

    /** The values of {@code Connection} that name no field. */
    private static final Set<String> OPTIONS = Set.of("close", "keep-alive", "upgrade");

    /** Kept even if {@code Connection} names them. */
    private static final Set<String> END_TO_END = Set.of(
            "accept",
            "authorization",
            "cache-control",
            "content-encoding",
            "content-length",
            "content-range",
            "content-type",
            "cookie",
            "date",
            "etag",
            "expires",
            "front-end-https",
            "grpc-timeout",
            "host",
            "if-match",
            "if-none-match",
            "location",
            "origin",
            "range",
            "retry-after",
            "server-timing",
            "set-cookie",
            "te",
            "traceparent",
            "tracestate",
            "trailer",
            // Without it, the request would lose its body. It is removed later, by its own name.
            "transfer-encoding",
            "vary",
            "via",
            "www-authenticate",
            "x-envoy-expected-rq-timeout-ms",
            "x-real-ip",
            "x-request-id",
            "x-request-timeout",
            "x-url-scheme");

    private HopByHop() {}

    /** Removes the fields in place. */
    public static void strip(HttpHeaders headers) {
        if (headers.contains(HttpHeaderNames.CONNECTION)) {
            stripNamed(headers);
            headers.remove(HttpHeaderNames.CONNECTION);
        }
        for (AsciiString name : REMOVED) {
            headers.remove(name);
        }
        if (headers.contains(HttpHeaderNames.TE)) {
            if (headers.containsValue(HttpHeaderNames.TE, TRAILERS, true)) {
                headers.set(HttpHeaderNames.TE, TRAILERS);
            } else {
                headers.remove(HttpHeaderNames.TE);
            }
        }
    }

    /**
     * Removes the fields that {@code Connection} names, and their names from {@code Connection}: it names
     * fields of the received message, not those that filters add under the same names. {@code close},
     * {@code keep-alive} and {@code upgrade} stay.
     */
    public static void stripNamed(HttpHeaders headers) {
        if (!headers.contains(HttpHeaderNames.CONNECTION)) {
            return;
        }
        StringJoiner options = new StringJoiner(", ");
        boolean hasNames = false;
        for (String value : headers.getAll(HttpHeaderNames.CONNECTION)) {
            int from = 0;
            while (from <= value.length()) {
                int comma = value.indexOf(',', from);
                int end = comma < 0 ? value.length() : comma;
                String option = trimmed(value, from, end);
                if (OPTIONS.contains(option)) {
                    options.add(option);
                } else if (!option.isEmpty()) {
                    hasNames = true;
                    if (!isEndToEnd(option)) {
                        headers.remove(option);
                    }
                }
                from = end + 1;
            }
        }
        if (hasNames && options.length() > 0) {
            headers.set(HttpHeaderNames.CONNECTION, options.toString());
        } else if (hasNames) {
            headers.remove(HttpHeaderNames.CONNECTION);
        }
    }

    private static boolean isEndToEnd(String name) {
        return END_TO_END.contains(name) || name.startsWith("x-forwarded") || name.equals("forwarded");
    }

    /** A part of a value in lower case, without the white space around it. */
    private static String trimmed(String value, int from, int to) {
        int start = from;
        int end = to;
        while (start < end && isSpace(value.charAt(start))) {
            start++;
        }
        while (end > start && isSpace(value.charAt(end - 1))) {
            end--;
        }
        return value.substring(start, end).toLowerCase(Locale.ROOT);
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t';
    }
}
