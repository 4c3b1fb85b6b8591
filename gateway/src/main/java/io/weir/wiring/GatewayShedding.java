package io.weir.wiring;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http2.Http2Headers;
import io.weir.door.LiveRoutes;
import io.weir.door.PriorityHeader;
import io.weir.door.Routes;
import io.weir.edge.CallerPeer;
import io.weir.edge.EdgeShedding;
import io.weir.engine.Route;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.overload.OverloadGuard;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Lets the {@link OverloadGuard} refuse requests at the edge. A request's class is known before its route if
 * a trusted proxy has set it, or if all routes have the same priority.
 */
// Concurrency: called on all event loops. Two loops that see new routes at the same time set the same value.
final class GatewayShedding implements EdgeShedding {

    private final OverloadGuard guard;
    private final Supplier<LiveRoutes> routes;
    private final @Nullable PriorityHeader priorityHeader;
    private volatile @Nullable Routes known;

    /**
     * The shedding of the gateway's own server.
     *
     * @param routes supplies the routes, which are created later than the server
     * @param priorityHeader the field in which trusted proxies set the priority of a request; null: none
     */
    GatewayShedding(OverloadGuard guard, Supplier<LiveRoutes> routes, @Nullable PriorityHeader priorityHeader) {
        this.guard = guard;
        this.routes = routes;
        this.priorityHeader = priorityHeader;
    }

    @Override
    public @Nullable Refusal refusal(Channel connection, HttpHeaders headers) {
        PriorityHeader field = guard.isAnyLoopShedding() ? priorityHeader : null;
        return refusal(connection.eventLoop(), field == null ? null : field.peek(headers, CallerPeer.of(connection)));
    }

    @Override
    public @Nullable Refusal refusal(Channel connection, Http2Headers headers) {
        PriorityHeader field = guard.isAnyLoopShedding() ? priorityHeader : null;
        return refusal(connection.eventLoop(), field == null ? null : field.peek(headers, CallerPeer.of(connection)));
    }

    private @Nullable Refusal refusal(EventLoop loop, @Nullable Priority requested) {
        if (guard.isAnyLoopShedding()) {
            learnPriorities();
        }
        // It counts each request: a delay that few requests cannot cause sheds nothing.
        return guard.refusesHead(loop, requested)
                ? new Refusal(
                        Reason.GATEWAY_OVERLOADED,
                        null,
                        RetryAfter.millis(0, ThreadLocalRandom.current().nextDouble()))
                : null;
    }

    @SuppressWarnings("ReferenceEquality") // A change of the configuration replaces the routes as a whole.
    private void learnPriorities() {
        Routes current = routes.get().get();
        if (current != known) {
            guard.setOnlyPriority(onlyPriority(current));
            known = current;
        }
    }

    /** The priority of all routes; null: they have different ones. */
    private static @Nullable Priority onlyPriority(Routes routes) {
        // Routes without a backend of the gateway are normal.
        boolean hasOthers = routes.views().size() > routes.byId().size();
        Priority only = hasOthers ? Priority.NORMAL : null;
        for (Route route : routes.byId().values()) {
            if (only != null && only != route.priority()) {
                return null;
            }
            only = route.priority();
        }
        return only == null ? Priority.NORMAL : only;
    }

    @Override
    public boolean isShedding() {
        return guard.isAnyLoopShedding();
    }

    @Override
    public boolean takeTurn(EventLoop loop, Runnable task) {
        return guard.takeTurn(loop, task);
    }

    @Override
    public void leaveTurns(EventLoop loop, Runnable task) {
        guard.leaveTurns(loop, task);
    }
}
