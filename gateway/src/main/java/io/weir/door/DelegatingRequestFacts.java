package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/** Request facts that come from the inbound request. */
interface DelegatingRequestFacts extends RequestFacts {

    /** The request as received. */
    InboundRequest inbound();

    @Override
    default String requestMethod() {
        return inbound().requestMethod();
    }

    @Override
    default HttpHeaders requestHeaders() {
        return inbound().requestHeaders();
    }

    @Override
    default String scheme() {
        return inbound().scheme();
    }

    @Override
    default String requestPath() {
        return inbound().requestPath();
    }

    @Override
    default String requestId() {
        return inbound().requestId();
    }

    @Override
    default int refusalBytes(Refusal refusal) {
        return inbound().refusalBytes(refusal);
    }

    @Override
    default @Nullable String traceId() {
        return inbound().traceId();
    }

    @Override
    default String callerAddress() {
        return inbound().callerAddress();
    }

    @Override
    default String door() {
        return inbound().door();
    }

    @Override
    default String protocol() {
        return inbound().protocol();
    }
}
