package io.weir;

import io.weir.door.EdgeOutcomes;
import io.weir.edge.EdgeListener;
import io.weir.engine.Exchange;
import io.weir.engine.RouteObserver;
import io.weir.observe.AccessLog;
import io.weir.observe.EdgeMeters;
import io.weir.observe.ExchangeMeters;
import io.weir.observe.RequestFacts;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Writes what becomes of requests into the meters and the access log.
 *
 * @param log null: it is switched off
 */
record Recorder(EdgeMeters edge, @Nullable AccessLog log) implements EdgeOutcomes, EdgeListener {

    /** The observer of a route with meters of its own. */
    OfRoute of(ExchangeMeters meters) {
        return new OfRoute(meters, log);
    }

    /**
     * Writes what becomes of a route's exchanges.
     *
     * @param log null: it is switched off
     */
    record OfRoute(ExchangeMeters meters, @Nullable AccessLog log) implements RouteObserver {

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
        edge.refused(refusal.reason());
        if (log != null) {
            log.refused(refusal, facts);
        }
    }

    @Override
    public void answered(String route, int status, long totalNanos, RequestFacts facts) {
        edge.answered(route, status, totalNanos);
        if (log != null) {
            log.answered(route, status, totalNanos, facts);
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
        edge.refused(reason);
        if (log != null) {
            log.refused(Refusal.of(reason, null), new Undecoded(method, target, remote));
        }
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
