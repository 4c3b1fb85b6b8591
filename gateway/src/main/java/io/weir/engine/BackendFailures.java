package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.health.BackendFailure;
import io.weir.limit.Limit.Evidence;
import io.weir.outcome.Reason;
import io.weir.retry.PushbackField;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The failures that are reported to breakers. Each is created once, so that a failure costs no allocation.
 */
final class BackendFailures {

    private static final int FIRST_STATUS = 400;
    private static final int TOO_MANY_REQUESTS = 429;
    private static final int UNAVAILABLE = 503;
    private static final String GRPC_RESOURCE_EXHAUSTED = "8";
    private static final String GRPC_UNAVAILABLE = "14";
    private static final int STATUSES = 200;
    private static final int GRPC_STATUSES = 17;

    private static final Map<Reason, BackendFailure> BY_REASON = new EnumMap<>(Reason.class);
    private static final BackendFailure[] BY_STATUS = new BackendFailure[STATUSES];
    private static final BackendFailure[] BY_GRPC_STATUS = new BackendFailure[GRPC_STATUSES];

    static {
        for (Reason reason : Reason.values()) {
            BY_REASON.put(reason, new BackendFailure(reason.word()));
        }
        for (int i = 0; i < STATUSES; i++) {
            BY_STATUS[i] = new BackendFailure("status-" + (FIRST_STATUS + i));
        }
        for (int i = 0; i < GRPC_STATUSES; i++) {
            BY_GRPC_STATUS[i] = new BackendFailure("grpc-" + i);
        }
    }

    private BackendFailures() {}

    static BackendFailure of(Reason reason) {
        BackendFailure failure = BY_REASON.get(reason);
        if (failure == null) {
            throw new IllegalStateException("reason: " + reason + " (expected: a constant of Reason)");
        }
        return failure;
    }

    /** The failure of a status from 400 to 599. */
    static BackendFailure ofStatus(int status) {
        return BY_STATUS[status - FIRST_STATUS];
    }

    /** The failure that an answer's head reports, by its status or its gRPC status; null: none. */
    static @Nullable BackendFailure ofHead(Backend backend, int status, HttpHeaders head) {
        return backend.settings().failureStatuses().get(status) ? ofStatus(status) : ofGrpcStatus(backend, head);
    }

    /** The evidence of an answer's head about the backend's limit. */
    static Evidence signOfLoad(Backend backend, int status, HttpHeaders head) {
        if (status != UNAVAILABLE && status != TOO_MANY_REQUESTS) {
            return ofGrpcPushback(backend, head);
        }
        if (head.contains(HttpHeaderNames.RETRY_AFTER)) {
            return status == TOO_MANY_REQUESTS ? Evidence.QUOTA : Evidence.SHED;
        }
        return status == UNAVAILABLE ? Evidence.UNAVAILABLE : Evidence.ANSWERED;
    }

    /** The evidence of gRPC's pushback in a head or in trailers, which is that of {@code Retry-After}. */
    static Evidence ofGrpcPushback(Backend backend, HttpHeaders fields) {
        String status = backend.settings().isHttp2() ? PushbackField.grpcStatus(fields) : null;
        if (GRPC_UNAVAILABLE.equals(status)) {
            return Evidence.SHED;
        }
        return GRPC_RESOURCE_EXHAUSTED.equals(status) ? Evidence.QUOTA : Evidence.ANSWERED;
    }

    /** The failure that the gRPC status in a head or in trailers reports; null: none. */
    static @Nullable BackendFailure ofGrpcStatus(Backend backend, HttpHeaders fields) {
        String value = fields.isEmpty() ? null : fields.get("grpc-status");
        if (value == null) {
            return null;
        }
        try {
            int status = Integer.parseInt(value);
            return status > 0 && backend.settings().failureGrpcStatuses().get(status) ? BY_GRPC_STATUS[status] : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
