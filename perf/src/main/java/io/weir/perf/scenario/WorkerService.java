package io.weir.perf.scenario;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/**
 * A backend's service with workers that serve one call at a time each. Calls wait for a worker in order,
 * without a bound, and complete even if their callers have left. The workers and their speed can change.
 */
final class WorkerService implements Supplier<Mono<Void>> {

    private static final class Workers extends Semaphore {

        private static final long serialVersionUID = 1;

        Workers(int count) {
            super(count, true);
        }

        /** Workers that are busy leave after their call. */
        void remove(int count) {
            reducePermits(count);
        }
    }

    private final int count;
    private final Duration serviceTime;
    private final Workers workers;
    private volatile int slowness = 1;
    private volatile boolean hangs;

    WorkerService(int count, Duration serviceTime) {
        this.count = count;
        this.serviceTime = serviceTime;
        this.workers = new Workers(count);
    }

    /** Calls per second that the workers can complete. */
    double capacity() {
        return count / (serviceTime.toMillis() / 1000.0);
    }

    int count() {
        return count;
    }

    Duration serviceTime() {
        return serviceTime;
    }

    void removeWorkers(int removed) {
        workers.remove(removed);
    }

    void addWorkers(int added) {
        workers.release(added);
    }

    /** Multiplies the service time of calls that begin from now on. */
    void slowDown(int factor) {
        slowness = factor;
    }

    /** Calls that come from now on are never answered. */
    void hang() {
        hangs = true;
    }

    void heal() {
        hangs = false;
    }

    @Override
    public Mono<Void> get() {
        if (hangs) {
            return Mono.never();
        }
        Sinks.Empty<Void> done = Sinks.empty();
        Thread.ofVirtual().start(() -> serve(done));
        return done.asMono();
    }

    private void serve(Sinks.Empty<Void> done) {
        try {
            workers.acquire();
            try {
                Thread.sleep(serviceTime.multipliedBy(slowness));
            } finally {
                workers.release();
            }
            done.tryEmitEmpty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
