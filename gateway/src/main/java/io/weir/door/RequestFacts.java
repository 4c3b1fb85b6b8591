package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The facts of a request that access log and traces show beside its exchange. Called on the request's event
 * loop.
 */
public interface RequestFacts {

    /** The method as received. */
    String requestMethod();

    /** The head as received; empty if it was not decoded. */
    HttpHeaders headers();

    /**
     * The caller's scheme, from trusted proxies or the connection: {@code http} or {@code https}; empty if
     * unknown.
     */
    String scheme();

    /** The normalised path without the query, which may contain secrets. */
    String requestPath();

    /** The request's id, received or created. */
    String requestId();

    /** The size of the body in the answer of a refusal. */
    int refusalBytes(Refusal refusal);

    /** The trace id of a valid {@code traceparent}; null if there is none. */
    @Nullable
    String traceId();

    /** The caller's address, from trusted proxies or the connection. */
    String callerAddress();

    /** {@code compiled}, {@code general}, or {@code none} if no route was found. */
    String door();

    /** The protocol, such as {@code HTTP/1.1} or {@code HTTP/2.0}. */
    String protocol();
}
