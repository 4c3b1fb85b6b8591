package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.health.BackendFailure;
import io.weir.outcome.Reason;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The failures that breakers are told of, made once. */
final class Failure {

    private static final int FIRST_STATUS = 400;
    private static final int STATUSES = 200;
    private static final int GRPC_STATUSES = 17;

    private static final Map<Reason, BackendFailure> OF_REASON = new EnumMap<>(Reason.class);
    private static final BackendFailure[] OF_STATUS = new BackendFailure[STATUSES];
    private static final BackendFailure[] OF_GRPC_STATUS = new BackendFailure[GRPC_STATUSES];

    static {
        for (Reason reason : Reason.values()) {
            OF_REASON.put(reason, new BackendFailure(reason.word()));
        }
        for (int i = 0; i < STATUSES; i++) {
            OF_STATUS[i] = new BackendFailure("status-" + (FIRST_STATUS + i));
        }
        for (int i = 0; i < GRPC_STATUSES; i++) {
            OF_GRPC_STATUS[i] = new BackendFailure("grpc-" + i);
        }
    }

    private Failure() {}

    static BackendFailure of(Reason reason) {
        BackendFailure failure = OF_REASON.get(reason);
        if (failure == null) {
            throw new IllegalStateException("reason: " + reason + " (expected: one that was made at start)");
        }
        return failure;
    }

    /** A status from 400 to 599. */
    static BackendFailure ofStatus(int status) {
        return OF_STATUS[status - FIRST_STATUS];
    }

    /** What a backend's answer says by its head; null: no failure. */
    static @Nullable BackendFailure ofHead(Backend backend, int status, HttpHeaders head) {
        return backend.settings().failureStatuses().get(status) ? ofStatus(status) : ofGrpcStatus(backend, head);
    }

    /** What a backend's answer says by its gRPC status, in the head or in the trailers; null: no failure. */
    static @Nullable BackendFailure ofGrpcStatus(Backend backend, HttpHeaders fields) {
        String value = fields.isEmpty() ? null : fields.get("grpc-status");
        if (value == null) {
            return null;
        }
        try {
            int status = Integer.parseInt(value);
            return status > 0 && backend.settings().failureGrpcStatuses().get(status) ? OF_GRPC_STATUS[status] : null;
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
