package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;

/**
 * The header fields that make browsers careful with responses. A field that the backend or a filter has set
 * stays as it is.
 *
 * <ul>
 *   <li>{@code Strict-Transport-Security} (RFC 6797), for a year, on https only: browsers ignore it on http.
 *       Without {@code includeSubDomains}: the gateway does not know whether all subdomains have https.
 *   <li>{@code X-Content-Type-Options: nosniff}: the content type is not guessed.
 *   <li>{@code X-Frame-Options: SAMEORIGIN}: no other site shows the page in a frame.
 *   <li>{@code Referrer-Policy: strict-origin-when-cross-origin}: other sites do not see paths and queries.
 * </ul>
 *
 * <p>{@code Content-Security-Policy} is missing: a right value depends on the pages.
 */
final class SecurityHeaders {

    private static final AsciiString STRICT_TRANSPORT_SECURITY = AsciiString.cached("strict-transport-security");
    private static final AsciiString ONE_YEAR = AsciiString.cached("max-age=31536000");
    private static final AsciiString CONTENT_TYPE_OPTIONS = AsciiString.cached("x-content-type-options");
    private static final AsciiString NOSNIFF = AsciiString.cached("nosniff");
    private static final AsciiString FRAME_OPTIONS = AsciiString.cached("x-frame-options");
    private static final AsciiString SAME_ORIGIN = AsciiString.cached("SAMEORIGIN");
    private static final AsciiString REFERRER_POLICY = AsciiString.cached("referrer-policy");
    private static final AsciiString STRICT_ORIGIN = AsciiString.cached("strict-origin-when-cross-origin");

    private SecurityHeaders() {}

    /**
     * Adds the missing fields to a response's head.
     *
     * @param scheme the caller's scheme
     */
    static void write(HttpHeaders head, String scheme) {
        if (scheme.equals("https")) {
            setIfMissing(head, STRICT_TRANSPORT_SECURITY, ONE_YEAR);
        }
        setIfMissing(head, CONTENT_TYPE_OPTIONS, NOSNIFF);
        setIfMissing(head, FRAME_OPTIONS, SAME_ORIGIN);
        setIfMissing(head, REFERRER_POLICY, STRICT_ORIGIN);
    }

    private static void setIfMissing(HttpHeaders head, AsciiString name, AsciiString value) {
        if (!head.contains(name)) {
            head.set(name, value);
        }
    }
}
