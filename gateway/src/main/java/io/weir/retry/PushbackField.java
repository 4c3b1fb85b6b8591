package io.weir.retry;

import io.netty.handler.codec.http.HttpHeaders;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads the time for which a backend's answer asks the gateway to stay away: {@code Retry-After}, or {@code
 * grpc-retry-pushback-ms} in the head or the trailers of a gRPC answer (gRPC proposal A6). A pushback of gRPC
 * that is negative or no number means that the call must not be retried, and names no time.
 */
public final class PushbackField {

    private static final String GRPC_PUSHBACK = "grpc-retry-pushback-ms";

    private PushbackField() {}

    /** The time for which an answer asks the gateway to stay away; 0: it names none. */
    public static long nanos(HttpHeaders fields) {
        return Math.max(RetryAfterField.nanos(fields), Math.max(0, grpcNanos(fields.get(GRPC_PUSHBACK))));
    }

    /** The time before which the call that got this answer must not be retried; 0: it may be at once. */
    public static long nanosToRetry(HttpHeaders head) {
        long grpcNanos = grpcNanos(head.get(GRPC_PUSHBACK));
        return grpcNanos < 0 ? RetryAfterField.NEVER : Math.max(RetryAfterField.nanos(head), grpcNanos);
    }

    /** The gRPC status of an answer with gRPC's pushback; null: it has none, or names no time. */
    public static @Nullable String grpcStatus(HttpHeaders fields) {
        String pushback = fields.get(GRPC_PUSHBACK);
        return grpcNanos(pushback) > 0 ? fields.get("grpc-status") : null;
    }

    /** Negative: never. */
    private static long grpcNanos(@Nullable String millis) {
        try {
            return millis == null ? 0 : TimeUnit.MILLISECONDS.toNanos(Integer.parseInt(millis));
        } catch (NumberFormatException e) {
            return -1;
        }
    }
}
