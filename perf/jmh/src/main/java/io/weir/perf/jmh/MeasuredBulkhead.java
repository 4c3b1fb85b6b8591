package io.weir.perf.jmh;

import io.github.resilience4j.bulkhead.Bulkhead;
import io.github.resilience4j.bulkhead.BulkheadConfig;
import io.weir.limit.QueueingBulkhead;
import io.weir.limit.Waiter;
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
            if (this == WEIR) {
                return new Weir(new QueueingBulkhead(permits, 1000));
            }
            BulkheadConfig config = BulkheadConfig.custom()
                    .maxConcurrentCalls(permits)
                    .maxWaitDuration(blocking ? Duration.ofMinutes(1) : Duration.ZERO)
                    .build();
            return new Resilience4j(Bulkhead.of("measured", config));
        }
    }

    /**
     * The gateway's. A queued caller parks its thread until the callback, so that it blocks like
     * Resilience4j's.
     */
    record Weir(QueueingBulkhead bulkhead) implements MeasuredBulkhead {

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

    final class ParkedThread extends Waiter {

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
    record Resilience4j(Bulkhead bulkhead) implements MeasuredBulkhead {

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
