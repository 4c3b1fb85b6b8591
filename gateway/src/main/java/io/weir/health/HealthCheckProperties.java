package io.weir.health;

import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.util.Set;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.backends.<name>.health-check}: a request that the gateway sends to each instance at intervals,
 * whether calls come or not. An instance that fails it gets no calls. Off unless configured. The names are
 * Envoy's.
 *
 * @param probe {@code path}: a GET; {@code grpc-health}: a call of gRPC's health service, which passes if the
 *     status is {@code SERVING}; needs {@code protocol: h2}; {@code tcp}: a connection, without TLS, which
 *     passes if it is accepted: it finds a dead process, and none that hangs.
 * @param path path of a check by GET; starts with {@code /}; default: none; required with
 *     {@code probe: path}. Choose a path that stays good under load: an instance that answers its check with
 *     503 because it is busy leaves its calls to the others.
 * @param grpcService the full name of the service that {@code grpc-health} asks for, such as
 *     {@code shop.Orders}; 1 to 120 characters; default: the whole server.
 * @param interval time between two checks of an instance, jittered by a tenth; 100ms to 10m. Each gateway
 *     checks by itself, so ten gateways check an instance five times a second with the default.
 * @param timeout time until the answer's head; 10ms to 1m, at most the interval. Pauses of the gateway do not
 *     count.
 * @param healthyThreshold successive checks that an instance must pass before it gets calls again; 1 to 100.
 * @param unhealthyThreshold successive checks that an instance must fail before it gets no more calls; 1 to
 *     100. With 1, a single lost answer takes an instance out.
 * @param expectedStatuses the statuses that pass; each 200 to 599; default: 200 to 399.
 */
public record HealthCheckProperties(
        @DefaultValue("path") CheckMode probe,

        @Nullable @Pattern(regexp = "/[\\x21-\\x7e]*", message = "a path that starts with /")
        String path,

        @Nullable
        @Pattern(regexp = "[A-Za-z_][A-Za-z0-9_.]{0,119}", message = "the full name of a service, such as shop.Orders")
        String grpcService,

        @DefaultValue("2s") @DurationMin(millis = 100) @DurationMax(minutes = 10)
        Duration interval,

        @DefaultValue("1s") @DurationMin(millis = 10) @DurationMax(minutes = 1)
        Duration timeout,

        @DefaultValue("2") @Min(1) @Max(100) int healthyThreshold,
        @DefaultValue("3") @Min(1) @Max(100) int unhealthyThreshold,
        @Nullable Set<@Min(200) @Max(599) Integer> expectedStatuses) {

    private static final int FIRST_UNEXPECTED_STATUS = 400;

    /** Copies the set. */
    public HealthCheckProperties {
        expectedStatuses = expectedStatuses == null ? null : Set.copyOf(expectedStatuses);
    }

    /** A check by GET of a path. */
    public static HealthCheckProperties ofPath(
            String path, Duration interval, Duration timeout, int healthyThreshold, int unhealthyThreshold) {
        return new HealthCheckProperties(
                CheckMode.PATH, path, null, interval, timeout, healthyThreshold, unhealthyThreshold, null);
    }

    /** The request, as the log and the endpoints name it. */
    public String request() {
        return switch (probe) {
            case PATH -> "GET " + path;
            case GRPC_HEALTH -> grpcService == null ? "grpc-health" : "grpc-health of " + grpcService;
            case TCP -> "tcp";
        };
    }

    /** Whether an answer with this status passes the check. */
    public boolean isExpected(int status) {
        return expectedStatuses == null ? status < FIRST_UNEXPECTED_STATUS : expectedStatuses.contains(status);
    }
}
