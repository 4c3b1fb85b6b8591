package io.weir.perf.jmh;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** What is compared: the same three calls on either of the two. */
interface Limit {

    /** Long enough that no waiter gives up while it is measured. */
    Duration PATIENCE = Duration.ofMinutes(1);

    int PLACES = 1000;

    /** Takes a permit if one is free. */
    boolean tryAcquire();

    /** Takes a permit, and blocks until there is one. */
    void acquire();

    /** Gives a permit back. */
    void release();

    /** Of the gateway. */
    static Limit weir(int permits) {
        return new Weir(new QueueingBulkhead(permits, PLACES));
    }

    /** Of Resilience4j, first come first served as the gateway's, that refuses at once. */
    static Limit refusingResilience4j(int permits) {
        return resilience4j(permits, Duration.ZERO);
    }

    /** Of Resilience4j, first come first served as the gateway's, that blocks. */
    static Limit blockingResilience4j(int permits) {
        return resilience4j(permits, PATIENCE);
    }

    private static Limit resilience4j(int permits, Duration wait) {
        return new Resilience4j(Bulkhead.of(
                "measured",
                BulkheadConfig.custom()
                        .maxConcurrentCalls(permits)
                        .maxWaitDuration(wait)
                        .build()));
    }

    /** The gateway's. */
    final class Weir implements Limit {

        private final QueueingBulkhead bulkhead;

        private Weir(QueueingBulkhead bulkhead) {
            this.bulkhead = bulkhead;
        }

        @Override
        public boolean tryAcquire() {
            return bulkhead.tryAcquire();
        }

        @Override
        public void acquire() {
            Blocked blocked = new Blocked();
            switch (bulkhead.enter(blocked)) {
                case GRANTED -> {}
                case QUEUED -> blocked.await();
                case FULL -> throw new IllegalStateException("full: " + bulkhead);
            }
        }

        @Override
        public void release() {
            bulkhead.release();
        }
    }

    /** A thread that waits for its permit. */
    final class Blocked extends QueueingBulkhead.Waiter {

        private final Thread thread = Thread.currentThread();
        private volatile boolean granted;

        @Override
        protected void granted() {
            granted = true;
            LockSupport.unpark(thread);
        }

        private void await() {
            while (!granted) {
                LockSupport.park(this);
            }
        }
    }

    /** Resilience4j's. */
    final class Resilience4j implements Limit {

        private final Bulkhead bulkhead;

        private Resilience4j(Bulkhead bulkhead) {
            this.bulkhead = bulkhead;
        }

        @Override
        public boolean tryAcquire() {
            return bulkhead.tryAcquirePermission();
        }

        @Override
        public void acquire() {
            bulkhead.acquirePermission();
        }

        @Override
        public void release() {
            bulkhead.onComplete();
        }
    }
}
