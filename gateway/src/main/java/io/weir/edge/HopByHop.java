package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.HttpConversionUtil;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.Locale;
import java.util.Set;

/**
 * Removes what is meant for the next hop only (RFC 9110, 7.6.1), from requests and from answers alike.
 *
 * <p>{@code Connection} names further fields to remove. It is also a known way to make a proxy lose what it or another has put into a message: {@code Connection: Authorization} or
 * {@code Connection: X-Forwarded-For}. A sender must not name fields that are meant for all recipients (RFC 9110, 7.6.1), so such fields are kept when they are named:
 * those that frame a message, route it, say who asks, carry its deadline, identify it, or rule how it is cached. Everything else that is named goes.
 *
 * <p>{@code TE} stays if it says {@code trailers}, since trailers are passed on, and says nothing else then. {@code Expect} is dealt with by the gateway: it
 * is not passed on. {@code Proxy-Authorization} and {@code Proxy-Authenticate} are between a client and its own proxy, which this is not.
 */
public final class HopByHop {

    private static final AsciiString KEEP_ALIVE = AsciiString.cached("keep-alive");
    private static final AsciiString PROXY_CONNECTION = AsciiString.cached("proxy-connection");
    private static final AsciiString HTTP2_SETTINGS = AsciiString.cached("http2-settings");
    /** What Netty keeps of HTTP/2 in a request that it has translated. */
    private static final AsciiString X_HTTP2_SCHEME = HttpConversionUtil.ExtensionHeaderNames.SCHEME.text();

    private static final AsciiString X_HTTP2_STREAM_ID = HttpConversionUtil.ExtensionHeaderNames.STREAM_ID.text();
    private static final AsciiString TRAILERS = AsciiString.cached("trailers");

    private static final AsciiString[] REMOVED = {
        KEEP_ALIVE,
        PROXY_CONNECTION,
        HttpHeaderNames.PROXY_AUTHENTICATE,
        HttpHeaderNames.PROXY_AUTHORIZATION,
        HttpHeaderNames.TRANSFER_ENCODING,
        HttpHeaderNames.UPGRADE,
        HttpHeaderNames.EXPECT,
        HTTP2_SETTINGS,
        X_HTTP2_SCHEME,
        X_HTTP2_STREAM_ID,
    };

    /** Never removed for being named by {@code Connection}. */
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
            "vary",
            "via",
            "www-authenticate",
            "x-envoy-expected-rq-timeout-ms",
            "x-real-ip",
            "x-request-id",
            "x-request-timeout");

    private HopByHop() {}

    /** Removes them, in place. */
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

    private static void stripNamed(HttpHeaders headers) {
        Iterator<String> values = headers.getAll(HttpHeaderNames.CONNECTION).iterator();
        while (values.hasNext()) {
            String value = values.next();
            int from = 0;
            while (from <= value.length()) {
                int comma = value.indexOf(',', from);
                int end = comma < 0 ? value.length() : comma;
                stripNamed(headers, value, from, end);
                from = end + 1;
            }
        }
    }

    private static void stripNamed(HttpHeaders headers, String value, int from, int to) {
        int start = from;
        int end = to;
        while (start < end && isSpace(value.charAt(start))) {
            start++;
        }
        while (end > start && isSpace(value.charAt(end - 1))) {
            end--;
        }
        int length = end - start;
        if (length == 0
                || isWord(value, start, length, "close")
                || isWord(value, start, length, "keep-alive")
                || isWord(value, start, length, "upgrade")) {
            return;
        }
        String name = value.substring(start, end).toLowerCase(Locale.ROOT);
        if (!END_TO_END.contains(name) && !name.startsWith("x-forwarded") && !name.equals("forwarded")) {
            headers.remove(name);
        }
    }

    private static boolean isWord(String value, int start, int length, String word) {
        return length == word.length() && value.regionMatches(true, start, word, 0, length);
    }

    private static boolean isSpace(char c) {
        return c == ' ' || c == '\t';
    }
}
