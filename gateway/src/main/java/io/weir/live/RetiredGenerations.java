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
 * Configurations that were replaced but may still have requests. Closes the resources of each, such as pools
 * and meters, after the last request that can reach them.
 *
 * <p>A request reads the routes in force when it arrives and uses them to its end. It may ask a pool for its
 * first connection long after the pool was replaced. So neither elapsed time nor the state of a pool shows
 * when the pool can be closed; only reachability does. A periodic sweep marks everything that the requests of
 * retired generations can reach, and closes the rest.
 */
// Concurrency: guarded by this. A request reads its routes and increments their in-flight counter within one
// task of its event loop. So the counters of a retired generation are complete once every loop has run one
// further task.
public final class RetiredGenerations implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RetiredGenerations.class);
    private static final long SWEEP_PERIOD_MILLIS = 50;

    /**
     * A resource to be closed.
     *
     * @param key the object through which requests reach the resource: a pool, or a route's observer
     * @param close closes the resource; runs once
     */
    record RetiredResource(Object key, Runnable close) {}

    /**
     * Routes that were in force.
     *
     * @param routes the routes
     * @param pendingLoops the event loops that have not yet run a task since the routes were replaced
     */
    private record Generation(Routes routes, AtomicInteger pendingLoops) {

        /** Adds the keys of all resources that requests of this generation may still use. */
        void mark(Set<Object> used) {
            boolean mayEnterAnyRoute =
                    pendingLoops.get() > 0 || !routes.requestsInChain().isZero();
            for (Route route : routes.byId().values()) {
                if (mayEnterAnyRoute || !route.inFlight().isZero()) {
                    used.add(route.observer());
                    mark(route.backend(), used);
                    Backend fallback = route.fallbackBackend();
                    if (fallback != null) {
                        mark(fallback, used);
                    }
                }
            }
        }

        private static void mark(Backend backend, Set<Object> used) {
            backend.instances().all().forEach(instance -> used.add(instance.pool()));
        }

        boolean isOver() {
            return pendingLoops.get() == 0
                    && routes.requestsInChain().isZero()
                    && routes.byId().values().stream()
                            .allMatch(route -> route.inFlight().isZero());
        }
    }

    private final Iterable<EventExecutor> loops;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().daemon().name("weir-retirement").factory());
    private final List<Generation> generations = new ArrayList<>();
    private final List<RetiredResource> resources = new ArrayList<>();
    private boolean isSweepScheduled;

    /**
     * No retired generations yet.
     *
     * @param loops the event loops on which requests arrive
     */
    public RetiredGenerations(Iterable<EventExecutor> loops) {
        this.loops = loops;
    }

    /**
     * Retires routes that are no longer in force.
     *
     * @param replaced the routes
     * @param retired the resources to close after the last request that can reach them
     */
    synchronized void retire(Routes replaced, List<RetiredResource> retired) {
        AtomicInteger pendingLoops = new AtomicInteger();
        for (EventExecutor loop : loops) {
            pendingLoops.incrementAndGet();
            try {
                loop.execute(pendingLoops::decrementAndGet);
            } catch (RejectedExecutionException e) {
                // The loop has stopped: no request arrives on it.
                pendingLoops.decrementAndGet();
            }
        }
        generations.add(new Generation(replaced, pendingLoops));
        resources.addAll(retired);
        scheduleSweep();
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The sweep logs its failures and schedules itself.
    private void scheduleSweep() {
        if (!isSweepScheduled && !timer.isShutdown()) {
            isSweepScheduled = true;
            timer.schedule(this::sweep, SWEEP_PERIOD_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    private synchronized void sweep() {
        isSweepScheduled = false;
        generations.removeIf(Generation::isOver);
        Set<Object> used = Collections.newSetFromMap(new IdentityHashMap<>());
        generations.forEach(generation -> generation.mark(used));
        for (Iterator<RetiredResource> iterator = resources.iterator(); iterator.hasNext(); ) {
            RetiredResource resource = iterator.next();
            if (!used.contains(resource.key())) {
                iterator.remove();
                close(resource);
            }
        }
        if (!generations.isEmpty()) {
            scheduleSweep();
        }
    }

    private static void close(RetiredResource resource) {
        try {
            resource.close().run();
        } catch (RuntimeException e) {
            log.error("A resource of a replaced configuration could not be closed", e);
        }
    }

    /** The number of resources that are not closed yet. */
    public synchronized int openResources() {
        return resources.size();
    }

    /** The number of replaced configurations that requests use or may still use. */
    public synchronized int generationsInUse() {
        return generations.size();
    }

    /** Closes all resources at once, even if requests use them. */
    @Override
    public synchronized void close() {
        timer.shutdownNow();
        resources.forEach(RetiredGenerations::close);
        resources.clear();
        generations.clear();
    }
}
