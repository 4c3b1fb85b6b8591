package io.weir.perf.jmh;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

public interface MeasuredBulkhead {

    boolean tryAcquire();

    void acquire();

    void release();

    enum BulkheadKind {
        WEIR,
        RESILIENCE4J;

        /**
         * {@code blocking}: Resilience4j's waits for a permit, longer than a measurement; otherwise it
         * refuses.
         */
        MeasuredBulkhead create(int permits, boolean blocking) {
            return this == WEIR
                    ? new Weir(permits)
                    : new Resilience4j(permits, blocking ? Duration.ofMinutes(1) : Duration.ZERO);
        }
    }

    /**
     * The gateway's. A queued caller parks its thread until the callback, so that it blocks like
     * Resilience4j's.
     */
    final class Weir implements MeasuredBulkhead {

        private final QueueingBulkhead bulkhead;

        private Weir(int permits) {
            this.bulkhead = new QueueingBulkhead(permits, 1000);
        }

        @Override
        public boolean tryAcquire() {
            return bulkhead.tryAcquire();
        }

        @Override
        public void acquire() {
            ParkedThread thread = new ParkedThread();
            switch (bulkhead.enter(thread)) {
                case GRANTED -> {}
                case QUEUED -> thread.await();
                case FULL -> throw new IllegalStateException("full: " + bulkhead);
            }
        }

        @Override
        public void release() {
            bulkhead.release();
        }
    }

    final class ParkedThread extends QueueingBulkhead.Waiter {

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

    /** Resilience4j's, with a fair queue like the gateway's. */
    final class Resilience4j implements MeasuredBulkhead {

        private final Bulkhead bulkhead;

        private Resilience4j(int permits, Duration wait) {
            this.bulkhead = Bulkhead.of(
                    "measured",
                    BulkheadConfig.custom()
                            .maxConcurrentCalls(permits)
                            .maxWaitDuration(wait)
                            .build());
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
