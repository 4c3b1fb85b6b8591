package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** What access log and traces tell of a request beyond its exchange. Called on the request's event loop. */
public interface RequestFacts {

    /** The method as it came in. */
    String requestMethod();

    /** The head as it came in; empty if it was not decoded. */
    HttpHeaders requestHeaders();

    /** {@code http} or {@code https}, as far as trusted proxies tell it; empty if it is not known. */
    String scheme();

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
