package io.weir.wiring;

import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.accesslog.AccessLog;
import io.weir.door.DoorListener;
import io.weir.door.RequestFacts;
import io.weir.edge.EdgeListener;
import io.weir.edge.Handshake;
import io.weir.metrics.EdgeMeters;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.tracing.Tracing;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Records requests that never become an exchange in the meters, the access log and traces.
 *
 * @param meters the meters of such requests
 * @param accessLog null: the access log is disabled
 * @param tracing null: tracing is disabled
 * @param shedLines selects the requests refused at their head that are logged and traced
 */
record EdgeRecorder(
        EdgeMeters meters,
        @Nullable AccessLog accessLog,
        @Nullable Tracing tracing,
        ShedLines shedLines) implements DoorListener, EdgeListener {

    @Override
    public void refused(Refusal refusal, RequestFacts facts) {
        refused(refusal, 0, facts);
    }

    private void refused(Refusal refusal, long totalNanos, RequestFacts facts) {
        meters.refused(refusal.reason());
        String traceId = tracing == null ? facts.traceId() : tracing.refused(refusal, totalNanos, facts);
        if (accessLog != null) {
            accessLog.refused(refusal, facts, traceId);
        }
    }

    @Override
    public void failed(String route, Refusal refusal, long totalNanos, RequestFacts facts) {
        meters.failed(route, facts.door(), refusal.reason(), totalNanos);
        String traceId = tracing == null ? facts.traceId() : tracing.failed(route, refusal, totalNanos, facts);
        if (accessLog != null) {
            accessLog.failed(route, refusal, totalNanos, facts, traceId);
        }
    }

    @Override
    public void answered(String route, int status, long totalNanos, RequestFacts facts) {
        meters.answered(route, facts.door(), status, totalNanos);
        String traceId = tracing == null ? facts.traceId() : tracing.answered(route, status, totalNanos, facts);
        if (accessLog != null) {
            accessLog.answered(route, status, totalNanos, facts, traceId);
        }
    }

    @Override
    public void priorityIgnored() {
        meters.priorityIgnored();
    }

    @Override
    public void connectionOpened() {}

    @Override
    public void connectionClosed() {}

    @Override
    public void connectionRejected(@Nullable SocketAddress remote) {}

    @Override
    public void connectionFlooded(@Nullable SocketAddress remote) {
        meters.flooded();
    }

    @Override
    public void handshakeEnded(Handshake handshake) {
        meters.handshakeEnded(handshake);
    }

    @Override
    public void refused(
            Reason reason,
            String requestId,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            long nanos,
            int answerBytes) {
        if (reason == Reason.GATEWAY_OVERLOADED && !shedLines.take()) {
            meters.refused(reason);
            return;
        }
        refused(Refusal.of(reason, null), nanos, new UndecodedRequest(requestId, method, target, remote, answerBytes));
    }

    /** The known facts of a request that the decoder refused. */
    private record UndecodedRequest(
            String requestId,
            @Nullable String method,
            @Nullable String target,
            @Nullable SocketAddress remote,
            int answerBytes)
            implements RequestFacts {

        @Override
        public String requestMethod() {
            return method == null ? "" : method;
        }

        @Override
        public HttpHeaders headers() {
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
        public int refusalBytes(Refusal refusal) {
            return answerBytes;
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
