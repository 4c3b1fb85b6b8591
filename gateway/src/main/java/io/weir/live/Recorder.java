package io.weir.live;

import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.accesslog.AccessLog;
import io.weir.door.DoorListener;
import io.weir.door.RequestFacts;
import io.weir.edge.EdgeListener;
import io.weir.engine.Exchange;
import io.weir.engine.ExchangeTrace;
import io.weir.engine.RouteObserver;
import io.weir.metrics.EdgeMeters;
import io.weir.metrics.ExchangeMeters;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.tracing.Tracing;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Writes what becomes of requests into the meters, the access log and traces.
 *
 * @param log null: it is switched off
 * @param tracing null: it is switched off
 */
public record Recorder(
        EdgeMeters edge, @Nullable AccessLog log, @Nullable Tracing tracing) implements DoorListener, EdgeListener {

    /** The observer of a route with meters of its own. */
    public OfRoute of(ExchangeMeters meters) {
        return new OfRoute(meters, log, tracing);
    }

    /**
     * Writes what becomes of a route's exchanges.
     *
     * @param log null: it is switched off
     * @param tracing null: it is switched off
     */
    public record OfRoute(
            ExchangeMeters meters,
            @Nullable AccessLog log,
            @Nullable Tracing tracing) implements RouteObserver {

        @Override
        public @Nullable ExchangeTrace began(Exchange exchange) {
            return tracing == null ? null : tracing.began(exchange);
        }

        @Override
        public void ended(Exchange exchange) {
            meters.ended(exchange);
            if (log != null) {
                log.ended(exchange);
            }
        }
    }

    @Override
    public void refused(Refusal refusal, RequestFacts facts) {
        refused(refusal, 0, facts);
    }

    private void refused(Refusal refusal, long nanos, RequestFacts facts) {
        edge.refused(refusal.reason());
        String traceId = tracing == null ? facts.traceId() : tracing.refused(refusal, nanos, facts);
        if (log != null) {
            log.refused(refusal, facts, traceId);
        }
    }

    @Override
    public void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts) {
        edge.failed(route, refusal.reason(), totalNanos);
        String traceId = tracing == null ? facts.traceId() : tracing.failed(route, refusal, totalNanos, facts);
        if (log != null) {
            log.failed(route, refusal, totalNanos, facts, traceId);
        }
    }

    @Override
    public void answered(String route, int status, long totalNanos, RequestFacts facts) {
        edge.answered(route, status, totalNanos);
        String traceId = tracing == null ? facts.traceId() : tracing.answered(route, status, totalNanos, facts);
        if (log != null) {
            log.answered(route, status, totalNanos, facts, traceId);
        }
    }

    @Override
    public void connectionOpened() {}

    @Override
    public void connectionClosed() {}

    @Override
    public void connectionRejected(@Nullable SocketAddress remote) {}

    @Override
    public void refused(
            Reason reason,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            long nanos) {
        refused(Refusal.of(reason, null), nanos, new Undecoded(method, target, remote));
    }

    /** What is known of a request that was refused where it was decoded. */
    private record Undecoded(
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote) implements RequestFacts {

        @Override
        public String requestMethod() {
            return method == null ? "" : method;
        }

        @Override
        public HttpHeaders requestHeaders() {
            return EmptyHttpHeaders.INSTANCE;
        }

        @Override
        public String scheme() {
            return "";
        }

        @Override
        public String requestPath() {
            return target == null ? "" : target;
        }

        @Override
        public String requestId() {
            return "";
        }

        @Override
        public @Nullable String traceId() {
            return null;
        }

        @Override
        public String callerAddress() {
            return remote instanceof InetSocketAddress address ? address.getHostString() : "";
        }

        @Override
        public String door() {
            return "none";
        }

        @Override
        public String protocol() {
            return "";
        }
    }
}
