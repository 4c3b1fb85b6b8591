package io.weir.management;

import io.weir.door.RouteView;
import io.weir.drain.Drain;
import io.weir.engine.Engine;
import io.weir.overload.OverloadGuard;
import java.util.Collection;
import java.util.Locale;
import java.util.Map;

/**
 * All that the endpoint {@code weir} shows.
 *
 * @param gateway the gateway as a whole
 * @param backends the backends, by name
 * @param routes the routes, in the order in which they are tried
 */
public record GatewayView(Whole gateway, Map<String, BackendView> backends, Collection<RouteView> routes) {

    private static final double MILLISECOND = 1e6;

    /**
     * The gateway as a whole.
     *
     * @param phase {@code serving}, {@code announced} or {@code refusing}: how far it is on its way out
     * @param inFlight exchanges, waiting or dispatched, streams included
     * @param streams streams and WebSockets among them
     * @param eventLoopDelayMs delay that the worst event loop runs its tasks with
     * @param memoryPercent share of the fuller memory in use
     * @param overloaded whether new work is shed for the sake of event loops or memory
     */
    public record Whole(
            String phase,
            int inFlight,
            int maxInFlight,
            int streams,
            double eventLoopDelayMs,
            int memoryPercent,
            boolean overloaded) {

        /** Now. */
        public static Whole of(Engine engine, OverloadGuard guard, Drain drain) {
            return new Whole(
                    drain.phase().name().toLowerCase(Locale.ROOT),
                    engine.inFlight(),
                    guard.maxInFlight(),
                    engine.streams(),
                    guard.loopDelayNanos() / MILLISECOND,
                    guard.memoryPercent(),
                    guard.isOverloaded(0));
        }
    }
}
