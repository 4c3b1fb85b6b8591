package io.weir.door;

import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.authentication.ClientCertificate;
import io.weir.engine.Caller;
import io.weir.engine.Exchange;
import io.weir.limit.Priority;
import io.weir.limit.TenantKey;
import io.weir.outcome.Refusal;
import io.weir.ratelimit.Quota;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/** The part of a caller that is the same for both doors: it comes from the inbound request. */
interface DelegatingCaller extends Caller, RequestFacts {

    /** The request as received. */
    InboundRequest inbound();

    /** The caller's exchange. */
    Exchange exchange();

    @Override
    default Channel channel() {
        return inbound().channel();
    }

    @Override
    default HttpHeaders headers() {
        return inbound().request().requestHeaders();
    }

    @Override
    default @Nullable Priority requestedPriority() {
        return inbound().requestedPriority();
    }

    @Override
    default @Nullable String tenant(TenantKey key) {
        return inbound().tenant(key);
    }

    @Override
    default @Nullable InetAddress clientAddress() {
        return inbound().clientAddress();
    }

    @Override
    default String callerNetwork() {
        return inbound().callerNetwork();
    }

    @Override
    default @Nullable ClientCertificate clientCertificate() {
        return inbound().clientCertificate();
    }

    @Override
    default HttpHeaders requestTrailers() {
        return inbound().requestTrailers();
    }

    @Override
    default void trailers(HttpHeaders trailers) {
        inbound().response().trailerHeaders(Trailers.adding(trailers));
    }

    @Override
    default int refusalBytes(Refusal refusal) {
        return inbound().refusalBytes(refusal);
    }

    @Override
    default boolean asksForWebSocket() {
        return WebSocketUpgrade.isAskedFor(inbound());
    }

    @Override
    default boolean readsFailureInTrailers() {
        return inbound().isGrpcOverHttp2();
    }

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

    /** Adds the caller's quota to the response's head. */
    default void writeQuota() {
        Quota quota = exchange().record().quota();
        if (quota != null) {
            quota.writeTo(inbound().response().responseHeaders());
        }
    }
}
