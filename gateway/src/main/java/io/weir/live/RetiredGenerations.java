package io.weir.live;

import io.netty.util.concurrent.EventExecutor;
import io.weir.door.Routes;
import io.weir.engine.Backend;
import io.weir.engine.Route;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What changes of the configuration have left behind, until the last request that goes by it is over: then it is closed, and nothing of
 * it is left.
 *
 * <p>A request takes hold of the routes that are in force when it comes in, and goes by them to its end; it may still ask a pool for its
 * first connection long after that pool has been replaced. So nothing is closed on time, or on the state of a pool, but only when nobody
 * can reach it: mark and sweep, from the routes that were in force once.
 */
// Concurrency: guarded by this. A request takes hold of its routes and counts itself in within one event of its event
// loop;
// routes that were swapped out are looked at only once every loop has been through another event.
public final class RetiredGenerations implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RetiredGenerations.class);
    private static final long PERIOD_MILLIS = 50;

    /**
     * Something to be closed.
     *
     * @param what what requests hold: a pool, or a route's observer
     */
    record RetiredResource(Object what, Runnable closing) {}

    /** Routes that were in force. */
    private record Past(Routes routes, AtomicInteger loopsToPass) {

        /** Adds all that somebody may still go by. */
        void mark(Set<Object> used) {
            boolean reachable = loopsToPass.get() > 0 || !routes.requestsInChain().isOver();
            for (Route route : routes.byId().values()) {
                if (reachable || !route.usage().isOver()) {
                    used.add(route.observer());
                    used.add(route.backend().pool());
                    Backend fallback = route.fallbackBackend();
                    if (fallback != null) {
                        used.add(fallback.pool());
                    }
                }
            }
        }

        boolean isOver() {
            return loopsToPass.get() == 0
                    && routes.requestsInChain().isOver()
                    && routes.byId().values().stream()
                            .allMatch(route -> route.usage().isOver());
        }
    }

    private final Iterable<EventExecutor> loops;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("weir-retirement").factory());
    private final List<Past> past = new ArrayList<>();
    private final List<RetiredResource> left = new ArrayList<>();
    private boolean scheduled;

    /**
     * Nothing is left behind yet.
     *
     * @param loops where requests come in
     */
    public RetiredGenerations(Iterable<EventExecutor> loops) {
        this.loops = loops;
    }

    /** Others are in force now, and these are to be closed. */
    synchronized void retire(Routes swappedOut, List<RetiredResource> leaving) {
        AtomicInteger toPass = new AtomicInteger();
        for (EventExecutor loop : loops) {
            toPass.incrementAndGet();
            try {
                loop.execute(toPass::decrementAndGet);
            } catch (RejectedExecutionException e) {
                // It has ended: nothing comes in there.
                toPass.decrementAndGet();
            }
        }
        past.add(new Past(swappedOut, toPass));
        left.addAll(leaving);
        schedule();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // It logs what goes wrong, and schedules itself.
    private void schedule() {
        if (!scheduled && !timer.isShutdown()) {
            scheduled = true;
            timer.schedule(this::sweep, PERIOD_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private synchronized void sweep() {
        scheduled = false;
        past.removeIf(Past::isOver);
        Set<Object> used = Collections.newSetFromMap(new IdentityHashMap<>());
        past.forEach(routes -> routes.mark(used));
        for (Iterator<RetiredResource> each = left.iterator(); each.hasNext(); ) {
            RetiredResource one = each.next();
            if (!used.contains(one.what())) {
                each.remove();
                close(one);
            }
        }
        if (!past.isEmpty()) {
            schedule();
        }
    }

    private static void close(RetiredResource one) {
        try {
            one.closing().run();
        } catch (RuntimeException e) {
            log.error("Something of a former configuration could not be closed", e);
        }
    }

    /** How much waits to be closed. */
    public synchronized int waiting() {
        return left.size();
    }

    /** How many former configurations requests still go by, or may. */
    public synchronized int past() {
        return past.size();
    }

    /** Closes all of it, whoever goes by it. */
    @Override
    public synchronized void close() {
        timer.shutdownNow();
        left.forEach(RetiredGenerations::close);
        left.clear();
        past.clear();
    }
}
