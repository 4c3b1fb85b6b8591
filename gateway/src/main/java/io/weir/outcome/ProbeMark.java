package io.weir.outcome;

import io.netty.util.AsciiString;

/**
 * {@code weir-probe}, which marks the gateway's own requests to a backend: copies of callers' requests, and
 * health checks. A backend may treat them differently, so the edge removes the field from the requests of
 * all callers, trusted proxies included: a proxy passes on what it does not know.
 */
public final class ProbeMark {

    /** The field name. */
    public static final AsciiString WEIR_PROBE = AsciiString.cached("weir-probe");

    private ProbeMark() {}
}
