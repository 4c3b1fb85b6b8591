package io.weir.apply;

import io.netty.util.concurrent.EventExecutor;
import io.weir.door.Routes;
import io.weir.engine.Authorizer;
import io.weir.engine.Backend;
import io.weir.engine.Route;
import io.weir.instance.Pool;
import java.time.Duration;
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
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Configurations that were replaced but may still have requests. Closes the resources of each, such as pools
 * and meters, after the last request that can reach them.
 *
 * <p>A request reads the routes in force when it arrives and uses them to its end. So elapsed time does not
 * show when a resource can be closed; only reachability does. A periodic sweep marks everything that the
 * requests of retired generations can reach, and closes the rest.
 *
 * <p>The instances of a backend change in place, also for requests of earlier generations. A request chooses
 * its instance and asks the instance's pool for a connection within one task of its event loop. So the pool
 * of a replaced instance can be closed once no exchange in flight uses it, on any event loop. If the instance
 * has left the backend, the exchanges that still use it after the drain time-out are ended.
 */
// Concurrency: guarded by this. A request reads its routes and increments their in-flight counter within one
// task of its event loop. So the counters of a retired generation are complete once every loop has run one
// further task.
public final class RetiredGenerations implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RetiredGenerations.class);
    private static final long SWEEP_PERIOD_MILLIS = 50;
    private static final long LONGEST_SWEEP_PERIOD_MILLIS = 1000;

    /** The exchanges that use pools. */
    public interface PoolUsers {

        /**
         * Finds the pools that exchanges use.
         *
         * @param receiver receives them, on any thread
         */
        void find(Consumer<Set<Pool>> receiver);

        /** Ends the exchanges that use a pool. */
        void end(Pool pool);
    }

    /**
     * A pool that no exchange chooses any more.
     *
     * @param endsAtNanos the end of the drain time-out, for a pool whose instance has left; null: none
     */
    private record ClosingPool(Pool pool, @Nullable Long endsAtNanos) {}

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
                    Authorizer authorizer = route.authorizer();
                    if (authorizer != null) {
                        mark(authorizer.calls().backend(), used);
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
    private final List<ClosingPool> pools = new ArrayList<>();
    private final PoolUsers users;
    private final long drainNanos;
    private final LongSupplier nanoClock;
    private boolean isSweepScheduled;
    private long poolSweepMillis = SWEEP_PERIOD_MILLIS;

    /**
     * No retired generations yet.
     *
     * @param loops the event loops on which requests arrive
     * @param users the exchanges in flight
     * @param drainTimeout time in which the exchanges that use an instance which has left may end
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public RetiredGenerations(
            Iterable<EventExecutor> loops, PoolUsers users, Duration drainTimeout, LongSupplier nanoClock) {
        this.loops = loops;
        this.users = users;
        this.drainNanos = drainTimeout.toNanos();
        this.nanoClock = nanoClock;
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

    /**
     * Closes a pool after the last exchange that uses it. If its instance has left the backend, the exchanges
     * end within the drain time-out.
     */
    public synchronized void retire(LeavingPool leaving) {
        pools.add(
                new ClosingPool(leaving.pool(), leaving.hasInstanceLeft() ? nanoClock.getAsLong() + drainNanos : null));
        poolSweepMillis = SWEEP_PERIOD_MILLIS;
        if (pools.size() == 1) {
            schedulePoolSweep();
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // The sweep logs its failures and schedules itself.
    private void schedulePoolSweep() {
        if (!timer.isShutdown()) {
            timer.schedule(this::sweepPools, poolSweepMillis, TimeUnit.MILLISECONDS);
            poolSweepMillis = Math.min(2 * poolSweepMillis, LONGEST_SWEEP_PERIOD_MILLIS);
        }
    }

    private void sweepPools() {
        List<ClosingPool> swept;
        synchronized (this) {
            // A pool that is retired later may be missing from the pools in use that are found now.
            swept = List.copyOf(pools);
        }
        users.find(used -> {
            try {
                timer.execute(() -> closeUnused(swept, used));
            } catch (RejectedExecutionException e) {
                log.debug("The gateway has stopped and has closed all pools", e);
            }
        });
    }

    private synchronized void closeUnused(List<ClosingPool> swept, Set<Pool> used) {
        long now = nanoClock.getAsLong();
        for (ClosingPool closing : swept) {
            if (!used.contains(closing.pool())) {
                if (pools.remove(closing)) {
                    close(closing.pool());
                }
            } else if (closing.endsAtNanos() != null && now - closing.endsAtNanos() >= 0) {
                users.end(closing.pool());
            }
        }
        if (!pools.isEmpty()) {
            schedulePoolSweep();
        }
    }

    private static void close(Pool pool) {
        try {
            pool.close().subscribe(nothing -> {}, failure -> log.error("A pool could not be closed", failure));
        } catch (RuntimeException e) {
            log.error("A pool could not be closed", e);
        }
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
        return resources.size() + pools.size();
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
        pools.forEach(closing -> close(closing.pool()));
        pools.clear();
        generations.clear();
    }
}
