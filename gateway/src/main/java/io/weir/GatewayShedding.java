package io.weir;

import io.netty.channel.EventLoop;
import io.weir.door.LiveRoutes;
import io.weir.door.Routes;
import io.weir.edge.EdgeShedding;
import io.weir.engine.Route;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.overload.OverloadGuard;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;

/**
 * Lets the {@link OverloadGuard} refuse requests at the edge, and tells it whether all routes have the same
 * priority, so that a request's class is known before its route.
 */
// Concurrency: called on all event loops. Two loops that see new routes at the same time set the same value.
final class GatewayShedding implements EdgeShedding {

    private final OverloadGuard guard;
    private final ObjectProvider<LiveRoutes> routes;
    private final boolean hasPriorityHeader;
    private volatile @Nullable Routes known;

    /**
     * The shedding of the gateway's own server.
     *
     * @param routes created later than the server
     * @param hasPriorityHeader whether trusted proxies can set the priority of a request
     */
    GatewayShedding(OverloadGuard guard, ObjectProvider<LiveRoutes> routes, boolean hasPriorityHeader) {
        this.guard = guard;
        this.routes = routes;
        this.hasPriorityHeader = hasPriorityHeader;
    }

    @Override
    public @Nullable Refusal refusal(EventLoop loop) {
        if (guard.isAnyLoopShedding()) {
            learnPriorities();
        }
        // It counts each request: a delay that few requests cannot cause sheds nothing.
        return guard.refusesHead(loop)
                ? new Refusal(
                        Reason.GATEWAY_OVERLOADED,
                        null,
                        RetryAfter.millis(0, ThreadLocalRandom.current().nextDouble()))
                : null;
    }

    @SuppressWarnings("ReferenceEquality") // A change of the configuration replaces the routes as a whole.
    private void learnPriorities() {
        Routes current = routes.getObject().get();
        if (current != known) {
            guard.setOnlyPriority(hasPriorityHeader ? null : onlyPriority(current));
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
