package io.weir.edge;

import java.util.Set;

/**
 * The fields that must not be trailers, because a recipient that merges trailers into the head would act on
 * them (RFC 9110, 6.5.1): fields that frame or route a message, authenticate a side or set its state, control
 * caches or browsers, carry a deadline, or say how to read the body.
 */
public final class TrailerFields {

    private static final Set<String> OF_HEADS = Set.of(
            "accept-ranges",
            "age",
            "alt-svc",
            "authentication-info",
            "authorization",
            "cache-control",
            "clear-site-data",
            "connection",
            "content-disposition",
            "content-encoding",
            "content-language",
            "content-length",
            "content-location",
            "content-range",
            "content-security-policy",
            "content-type",
            "cookie",
            "date",
            "expect",
            "expires",
            "forwarded",
            "front-end-https",
            "grpc-timeout",
            "host",
            "http2-settings",
            "keep-alive",
            "link",
            "location",
            "max-forwards",
            "origin",
            "pragma",
            "proxy-authenticate",
            "proxy-authentication-info",
            "proxy-authorization",
            "proxy-connection",
            "range",
            "referer",
            "refresh",
            "retry-after",
            "server",
            "set-cookie",
            "strict-transport-security",
            "te",
            "traceparent",
            "tracestate",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "vary",
            "via",
            "warning",
            "weir-probe",
            "www-authenticate",
            "x-content-type-options",
            "x-envoy-expected-rq-timeout-ms",
            "x-frame-options",
            "x-real-ip",
            "x-request-id",
            "x-request-timeout",
            "x-url-scheme");

    private TrailerFields() {}

    /** Whether a field, or one of its {@link OtherSpellings}, must not be a trailer and is dropped. */
    public static boolean belongsToHead(String name) {
        String lower = OtherSpellings.withHyphens(name);
        return OF_HEADS.contains(lower)
                || lower.startsWith("if-")
                || lower.startsWith("x-forwarded")
                || lower.startsWith("access-control-");
    }
}
