package io.weir.engine;

import io.netty.channel.EventLoop;
import io.weir.health.RouteHealth;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.overload.LoopPauses;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an engine keeps for one event loop: the exchanges in flight on it, so that a drain can end the
 * remaining ones, each with its own answer, and the loop's pauses. Each exchange looks its loop's object up
 * once.
 *
 * <p>A list that is linked through the exchanges themselves: adding and removing allocate nothing.
 * Concurrency: confined to the event loop, except {@link #shutDown}.
 */
final class InFlightExchanges {

    private static final Logger log = LoggerFactory.getLogger(InFlightExchanges.class);

    private final EventLoop loop;
    private final LoopPauses pauses;
    private @Nullable Exchange first;

    /**
     * An empty list.
     *
     * @param pauses the pauses of the event loop
     */
    InFlightExchanges(EventLoop loop, LoopPauses pauses) {
        this.loop = loop;
        this.pauses = pauses;
    }

    /** The pauses of the event loop. */
    LoopPauses pauses() {
        return pauses;
    }

    void add(Exchange exchange) {
        Exchange second = first;
        exchange.next = second;
        if (second != null) {
            second.previous = exchange;
        }
        first = exchange;
    }

    void remove(Exchange exchange) {
        Exchange previous = exchange.previous;
        Exchange next = exchange.next;
        if (previous != null) {
            previous.next = next;
        } else {
            first = next;
        }
        if (next != null) {
            next.previous = previous;
        }
        exchange.previous = null;
        exchange.next = null;
    }

    /** Moves the calls that wait in an instance which has opened to other instances. From any thread. */
    void leave(Instance opened) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    Instance instance = exchange.record().instance();
                    if (instance != null && instance.isSameAs(opened)) {
                        exchange.post((phase, now) -> phase.instanceOpened(opened, now));
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("Nothing to move on a stopped event loop", e);
        }
    }

    /** Gives back the permits of the calls of a route that hangs. From any thread. */
    void giveBackPermits(RouteHealth stalled) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    exchange.phase().routeStalled(stalled, exchange.now());
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("No permits to give back on a stopped event loop", e);
        }
    }

    /**
     * Adds the pools that the exchanges in flight use or ask for a connection. From any thread.
     *
     * @param done runs after that, on the event loop; at once if the event loop has stopped
     */
    void addUsedPools(Set<Pool> used, Runnable done) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    Instance instance = exchange.phase().usedInstance();
                    Instance second = exchange.phase().secondInstance();
                    if (instance != null) {
                        used.add(instance.pool());
                    }
                    if (second != null) {
                        used.add(second.pool());
                    }
                }
                done.run();
            });
        } catch (RejectedExecutionException e) {
            // The connections of a stopped event loop are closed, so nothing is in flight.
            log.debug("Nothing uses a pool on a stopped event loop", e);
            done.run();
        }
    }

    /** Ends the exchanges that use a pool whose instance has left. From any thread. */
    void endUsersOf(Pool left) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    Instance instance = exchange.phase().usedInstance();
                    Instance second = exchange.phase().secondInstance();
                    if ((instance != null && instance.pool() == left) || (second != null && second.pool() == left)) {
                        exchange.post((phase, now) -> phase.instanceGone(left, now));
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("Nothing to end on a stopped event loop", e);
        }
    }

    /**
     * Ends the exchanges that match and are in flight when the event loop runs this task. From any thread.
     */
    void shutDown(Predicate<Exchange> filter) {
        try {
            loop.execute(() -> {
                for (Exchange exchange = first; exchange != null; exchange = exchange.next) {
                    if (filter.test(exchange)) {
                        exchange.shutDown();
                    }
                }
            });
        } catch (RejectedExecutionException e) {
            // The connections of a stopped event loop are closed, so nothing is in flight. The loop over the
            // event loops continues.
            log.debug("Nothing to end on a stopped event loop", e);
        }
    }
}
