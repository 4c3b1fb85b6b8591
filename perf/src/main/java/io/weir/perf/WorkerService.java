package io.weir.perf;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.server.HttpServerRequest;

/**
 * A backend's service with workers that serve one call at a time each. Calls wait for a worker in order,
 * without a bound, and complete even if their callers have left. The workers and their speed can change.
 */
public final class WorkerService implements Function<HttpServerRequest, Mono<Void>> {

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

    public WorkerService(int count, Duration serviceTime) {
        this.count = count;
        this.serviceTime = serviceTime;
        this.workers = new Workers(count);
    }

    /** A service with a worker for each call. */
    public static WorkerService unlimited(Duration serviceTime) {
        return new WorkerService(Integer.MAX_VALUE, serviceTime);
    }

    public double capacity() {
        return count / (serviceTime.toMillis() / 1000.0);
    }

    public void removeWorkers(int removed) {
        workers.remove(removed);
    }

    public void addWorkers(int added) {
        workers.release(added);
    }

    /** Multiplies the service time of calls that begin from now on. */
    public void slowDown(int factor) {
        slowness = factor;
    }

    /** Calls that come from now on are never answered. */
    public void hang() {
        hangs = true;
    }

    public void heal() {
        hangs = false;
    }

    @Override
    public Mono<Void> apply(HttpServerRequest request) {
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
