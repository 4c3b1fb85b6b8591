package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The checks of an HTTP/2 request head that Netty's codec has accepted. Pure functions. */
final class Http2RequestChecks {

    private Http2RequestChecks() {}

    /**
     * Whether a head has the pseudo-header fields without which it is no request, and none that belongs to
     * CONNECT alone (RFC 9113, 8.3.1, and RFC 8441, 4). A request with CONNECT needs a method only.
     */
    static boolean isWellFormed(Http2Headers headers) {
        CharSequence method = headers.method();
        if (method == null) {
            return false;
        }
        CharSequence path = headers.path();
        return HttpMethod.CONNECT.asciiName().contentEquals(method)
                || (isScheme(headers.scheme())
                        && path != null
                        && !path.isEmpty()
                        && !headers.contains(Http2Headers.PseudoHeaderName.PROTOCOL.value()));
    }

    /** Whether the characters are those of a scheme (RFC 3986, 3.1). */
    private static boolean isScheme(@Nullable CharSequence scheme) {
        if (scheme == null || scheme.isEmpty() || !isLetter(scheme.charAt(0))) {
            return false;
        }
        for (int i = 1; i < scheme.length(); i++) {
            char c = scheme.charAt(i);
            if (!isLetter(c) && (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
                return false;
            }
        }
        return true;
    }

    private static boolean isLetter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }

    /** The refusal of a request head; null if the request may be passed on. */
    static @Nullable Refusal check(Http2Headers headers, EdgeRules rules) {
        CharSequence method = headers.method();
        CharSequence path = headers.path();
        if (method != null && HttpMethod.CONNECT.asciiName().contentEquals(method)) {
            return RequestChecks.connectMethod();
        }
        if (path == null || !isToken(method) || !HttpUtil.isEncodingSafeStartLineToken(path)) {
            return Refusal.of(Reason.BAD_REQUEST, "request: malformed (expected: a method and a path)");
        }
        if (path.charAt(0) != '/' && !path.toString().equals("*")) {
            // An absolute-form would name another host than :authority (RFC 9113, 8.3.1).
            return Refusal.of(Reason.BAD_REQUEST, "path: begins with no slash (expected: a slash, or only *)");
        }
        if (path.length() > rules.maxUriLength()) {
            return Refusal.of(Reason.URI_TOO_LONG, "path: longer than " + rules.maxUriLength() + " bytes");
        }
        int fields = 0;
        long sizeBytes = 0;
        for (Map.Entry<CharSequence, CharSequence> field : headers) {
            CharSequence name = field.getKey();
            if (name.charAt(0) != ':') {
                fields++;
                // The size in HTTP/1: with a colon and a space; the limit there excludes the end of the line.
                sizeBytes += name.length() + field.getValue().length() + 2;
            }
        }
        Refusal tooMany = RequestChecks.checkFieldCount(fields, rules);
        if (tooMany != null) {
            return tooMany;
        }
        if (sizeBytes > rules.maxHeaderSize()) {
            return RequestChecks.headerSectionTooLarge(rules);
        }
        return checkAuthority(headers);
    }

    /** The refusal of trailers; null if they may be passed on. */
    static @Nullable Refusal checkTrailers(Http2Headers trailers, EdgeRules rules) {
        return RequestChecks.checkFieldCount(trailers.size(), rules);
    }

    /**
     * Requires one authority, in {@code :authority} or in {@code Host}; if both are present, they must be
     * equal.
     */
    private static @Nullable Refusal checkAuthority(Http2Headers headers) {
        CharSequence authority = headers.authority();
        List<CharSequence> hosts = headers.getAll(HttpHeaderNames.HOST);
        if (hosts.size() > 1) {
            return RequestChecks.severalHosts();
        }
        if (authority == null && hosts.isEmpty()) {
            return RequestChecks.missingHost();
        }
        CharSequence host = authority == null ? hosts.get(0) : authority;
        if (!Authority.isValid(host)) {
            return Refusal.of(Reason.BAD_REQUEST, "host: malformed (expected: a host, and perhaps a port)");
        }
        if (authority != null && !hosts.isEmpty() && !AsciiString.contentEqualsIgnoreCase(authority, hosts.get(0))) {
            return Refusal.of(Reason.BAD_REQUEST, "host: another than :authority (expected: the same)");
        }
        return null;
    }

    private static boolean isToken(@Nullable CharSequence method) {
        if (method == null) {
            return false;
        }
        try {
            HttpMethod.valueOf(method.toString());
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
