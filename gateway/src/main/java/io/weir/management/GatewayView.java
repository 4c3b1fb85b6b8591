package io.weir.management;

import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.overload.OverloadGuard;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The document of the endpoint {@code weir}.
 *
 * @param gateway the gateway as a whole
 * @param backends the backends, by name
 * @param routes the routes, in the order in which they are matched
 * @param faults the injected faults that are active, the oldest first
 * @param configuration the configuration in force
 * @param tlsEngine the engine of TLS in use: {@code boringssl} or {@code jdk}
 */
public record GatewayView(
        Status gateway,
        Map<String, BackendView> backends,
        Collection<RouteState> routes,
        List<FaultView> faults,
        ConfigurationState configuration,
        String tlsEngine) {

    private static final double NANOS_PER_MILLI = 1e6;

    /**
     * The state of the gateway as a whole.
     *
     * @param phase phase of the shutdown: {@code serving}, {@code announced} or {@code refusing}
     * @param inFlight exchanges, queued or sent to a backend, streams included
     * @param maxInFlight limit of exchanges
     * @param sharedInFlight exchanges beyond the guaranteed shares of their backends
     * @param maxSharedInFlight limit of these; together with all guaranteed shares, the limit of exchanges
     * @param streams streams and WebSockets among the exchanges
     * @param eventLoopDelayMs standing delay of the slowest event loop; 0: no loop has one
     * @param memoryPercent share in use of heap or direct memory, the larger one
     * @param overloaded whether new requests are shed because of memory, or on an event loop because of its
     *     delay
     */
    public record Status(
            String phase,
            int inFlight,
            int maxInFlight,
            int sharedInFlight,
            int maxSharedInFlight,
            int streams,
            double eventLoopDelayMs,
            int memoryPercent,
            boolean overloaded) {

        /** The present state. */
        public static Status of(Engine engine, OverloadGuard guard, Drain drain) {
            return new Status(
                    drain.phase().name().toLowerCase(Locale.ROOT),
                    engine.inFlight(),
                    guard.maxInFlight(),
                    guard.sharedInFlight(),
                    guard.maxSharedInFlight(),
                    engine.streams(),
                    guard.loopDelayNanos() / NANOS_PER_MILLI,
                    guard.memoryPercent(),
                    guard.isOverloaded());
        }
    }
}
