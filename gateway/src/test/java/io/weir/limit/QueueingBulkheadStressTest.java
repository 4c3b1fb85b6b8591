package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;

/**
 * Checks the invariants while several threads enter, leave, release and resize at full speed, and afterwards.
 */
class QueueingBulkheadStressTest {

    private static final int THREADS = 4;

    @Test
    void neverExceedsTheLimitAndLosesNoPermit() throws Exception {
        Storm storm = new Storm(new QueueingBulkhead(2, 4), 2);

        storm.run(() -> {});

        storm.assertOver();
        assertThat(storm.bulkhead).hasToString("0 of 2 in use, 0 of 4 queued");
    }

    @Test
    void losesNoPermitWhileTheLimitChanges() throws Exception {
        Storm storm = new Storm(new QueueingBulkhead(1, 3), 4);
        Random random = new Random(1);

        storm.run(() -> storm.bulkhead.resize(1 + random.nextInt(4), random.nextInt(6)));
        storm.bulkhead.resize(3, 3);

        storm.assertOver();
        assertThat(storm.bulkhead).hasToString("0 of 3 in use, 0 of 3 queued");
    }

    @Test
    void grantsInOrderWhicheverThreadReleases() throws Exception {
        OrderedQueue queue = new OrderedQueue();

        List<Integer> served = queue.run();

        assertThat(served).isSorted().doesNotHaveDuplicates();
        assertThat(served.size() + queue.left).as("served and left").isEqualTo(OrderedQueue.CALLS);
        assertThat(queue.left).isPositive();
        assertThat(queue.bulkhead.inUse() + queue.bulkhead.queued()).isZero();
    }

    /**
     * Half of the waiters call and release in {@code granted()}. The threads of the other half make them
     * leave after a few more calls; a waiter that was granted a permit by then calls and releases on its
     * thread.
     */
    private static final class Storm {
        private static final int CALLS = 400_000;

        private final QueueingBulkhead bulkhead;
        private final int maxInside;
        private final AtomicInteger inside = new AtomicInteger();
        private final LongAdder limitExceeded = new LongAdder();
        private final LongAdder queued = new LongAdder();
        private final LongAdder left = new LongAdder();
        private final LongAdder grantedLater = new LongAdder();
        private final LongAdder grantedTwice = new LongAdder();
        private final LongAdder grantedAfterLeaving = new LongAdder();

        Storm(QueueingBulkhead bulkhead, int maxInside) {
            this.bulkhead = bulkhead;
            this.maxInside = maxInside;
        }

        void run(Runnable meanwhile) throws Exception {
            try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
                List<Future<Void>> workers = new ArrayList<>();
                for (int i = 0; i < THREADS; i++) {
                    workers.add(threads.submit(worker(new Random(i))));
                }
                while (!workers.stream().allMatch(Future::isDone)) {
                    meanwhile.run();
                    Thread.onSpinWait();
                }
                for (Future<Void> worker : workers) {
                    worker.get();
                }
            }
        }

        private Callable<Void> worker(Random random) {
            return () -> {
                List<StormWaiter> undecided = new ArrayList<>();
                for (int i = 0; i < CALLS; i++) {
                    StormWaiter waiter = new StormWaiter(random.nextBoolean());
                    Entry entry = bulkhead.enter(waiter);
                    if (entry == Entry.GRANTED) {
                        call();
                    } else if (entry == Entry.QUEUED) {
                        queued.increment();
                        if (!waiter.waitsUntilGranted) {
                            undecided.add(waiter);
                        }
                    }
                    if (undecided.size() > random.nextInt(3)) {
                        undecided.remove(random.nextInt(undecided.size())).decide();
                    }
                }
                undecided.forEach(StormWaiter::decide);
                return null;
            };
        }

        private void call() {
            if (inside.incrementAndGet() > maxInside) {
                limitExceeded.increment();
            }
            Thread.onSpinWait();
            inside.decrementAndGet();
            bulkhead.release();
        }

        void assertOver() {
            assertThat(limitExceeded.sum()).as("calls above the limit").isZero();
            assertThat(grantedTwice.sum()).as("granted twice").isZero();
            assertThat(grantedAfterLeaving.sum()).as("granted after leaving").isZero();
            assertThat(left.sum() + grantedLater.sum()).as("left or granted").isEqualTo(queued.sum());
            assertThat(left.sum()).as("left").isPositive();
            assertThat(grantedLater.sum()).as("granted later").isPositive();
        }

        private final class StormWaiter extends Waiter {
            private final boolean waitsUntilGranted;
            private final AtomicInteger grants = new AtomicInteger();
            private final AtomicBoolean hasLeft = new AtomicBoolean();

            StormWaiter(boolean waitsUntilGranted) {
                this.waitsUntilGranted = waitsUntilGranted;
            }

            @Override
            protected void granted() {
                grantedLater.increment();
                if (grants.incrementAndGet() > 1) {
                    grantedTwice.increment();
                }
                if (hasLeft.get()) {
                    grantedAfterLeaving.increment();
                }
                if (waitsUntilGranted) {
                    call();
                }
            }

            void decide() {
                if (leave()) {
                    hasLeft.set(true);
                    left.increment();
                    if (grants.get() > 0) {
                        grantedAfterLeaving.increment();
                    }
                } else {
                    call();
                }
            }
        }
    }

    /**
     * One permit: one thread enters numbered waiters and makes some of them leave, another thread releases.
     */
    private static final class OrderedQueue {
        private static final int CALLS = 300_000;

        private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 16);
        private final AtomicInteger toRelease = new AtomicInteger();
        private final AtomicBoolean over = new AtomicBoolean();

        /**
         * Written by the holder of the only permit. Not thread-safe on purpose: two holders would corrupt it.
         */
        private final List<Integer> served = new ArrayList<>();

        private int left;

        List<Integer> run() throws Exception {
            try (ExecutorService threads = Executors.newFixedThreadPool(1)) {
                Future<?> releaser = threads.submit(() -> {
                    while (!over.get()) {
                        releaseOne();
                    }
                });
                try {
                    enterAll();
                } finally {
                    over.set(true);
                }
                releaser.get();
            }
            return served;
        }

        private void enterAll() {
            Random random = new Random(1);
            for (int i = 0; i < CALLS; i++) {
                Waiter waiter = numbered(i);
                Entry entry = bulkhead.enter(waiter);
                while (entry == Entry.FULL) {
                    releaseOne();
                    waiter = numbered(i);
                    entry = bulkhead.enter(waiter);
                }
                if (entry == Entry.GRANTED) {
                    serve(i);
                } else if (random.nextInt(3) == 0) {
                    left += waiter.leave() ? 1 : 0;
                }
            }
            while (bulkhead.inUse() > 0) {
                releaseOne();
            }
        }

        private Waiter numbered(int number) {
            return new Waiter() {
                @Override
                protected void granted() {
                    serve(number);
                }
            };
        }

        private void serve(int number) {
            served.add(number);
            toRelease.incrementAndGet();
        }

        private void releaseOne() {
            if (Thread.currentThread().isInterrupted()) {
                throw new IllegalStateException("stuck, with %d to release: %s".formatted(toRelease.get(), bulkhead));
            }
            if (toRelease.getAndUpdate(count -> Math.max(0, count - 1)) > 0) {
                bulkhead.release();
            } else {
                Thread.onSpinWait();
            }
        }
    }
}
