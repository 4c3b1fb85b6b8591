package io.weir.observe;

import org.jspecify.annotations.Nullable;

/** What the access log tells of a request beyond its exchange. Called on the request's event loop, when it is over. */
public interface RequestFacts {

    /** The method as it came in. */
    String requestMethod();

    /** The normalised path, without the query, whose values may be secrets. */
    String requestPath();

    /** The id that was kept or made. */
    String requestId();

    /** The trace id of a valid {@code traceparent}; null if there is none. */
    @Nullable
    String traceId();

    /** The caller's address, as far as trusted proxies tell it. */
    String callerAddress();

    /** {@code compiled}, {@code general}, or {@code none} if no route was found. */
    String door();

    /** {@code HTTP/1.1}, {@code HTTP/2.0}. */
    String protocol();
}
