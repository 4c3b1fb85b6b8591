package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Waiter;
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
import org.junit.jupiter.api.Timeout;

/** Threads that enter, leave, release and resize as fast as they can, and what must hold meanwhile and afterwards. */
@Timeout(120)
class QueueingBulkheadStressTest {

    private static final int THREADS = 4;

    @Test
    void neverLetsMoreInThanTheLimitAndLosesNoPermit() throws Exception {
        Storm storm = new Storm(new QueueingBulkhead(2, 4), 2);

        storm.rage(() -> {});

        storm.assertOver();
        assertThat(storm.bulkhead).hasToString("0 of 2 in use, 0 of 4 queued");
    }

    @Test
    void losesNoPermitWhileTheLimitMoves() throws Exception {
        Storm storm = new Storm(new QueueingBulkhead(1, 3), 4);
        Random random = new Random(1);

        storm.rage(() -> storm.bulkhead.resize(1 + random.nextInt(4), random.nextInt(6)));
        storm.bulkhead.resize(3, 3);

        storm.assertOver();
        assertThat(storm.bulkhead).hasToString("0 of 3 in use, 0 of 3 queued");
    }

    @Test
    void servesWaitersInOrderWhoeverReleases() throws Exception {
        Line line = new Line();

        List<Integer> served = line.form();

        assertThat(served).isSorted().doesNotHaveDuplicates();
        assertThat(served.size() + line.left).as("served and left").isEqualTo(Line.CALLS);
        assertThat(line.left).isPositive();
        assertThat(line.bulkhead.inUse() + line.bulkhead.queued()).isZero();
    }

    /**
     * Half of the waiters do their call and release in {@code granted()}; the other half are left by their own thread
     * a few calls later, which then does the call if they had already got a permit.
     */
    private static final class Storm {
        private static final int CALLS = 400_000;

        private final QueueingBulkhead bulkhead;
        private final int mostInside;
        private final AtomicInteger inside = new AtomicInteger();
        private final LongAdder overcrowded = new LongAdder();
        private final LongAdder queued = new LongAdder();
        private final LongAdder left = new LongAdder();
        private final LongAdder grantedLater = new LongAdder();
        private final LongAdder grantedTwice = new LongAdder();
        private final LongAdder grantedAfterLeaving = new LongAdder();

        Storm(QueueingBulkhead bulkhead, int mostInside) {
            this.bulkhead = bulkhead;
            this.mostInside = mostInside;
        }

        void rage(Runnable meanwhile) throws Exception {
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
                List<Visitor> undecided = new ArrayList<>();
                for (int i = 0; i < CALLS; i++) {
                    Visitor visitor = new Visitor(random.nextBoolean());
                    Entry entry = bulkhead.enter(visitor);
                    if (entry == Entry.GRANTED) {
                        call();
                    } else if (entry == Entry.QUEUED) {
                        queued.increment();
                        if (!visitor.staysToTheEnd) {
                            undecided.add(visitor);
                        }
                    }
                    if (undecided.size() > random.nextInt(3)) {
                        undecided.remove(random.nextInt(undecided.size())).decide();
                    }
                }
                undecided.forEach(Visitor::decide);
                return null;
            };
        }

        private void call() {
            if (inside.incrementAndGet() > mostInside) {
                overcrowded.increment();
            }
            Thread.onSpinWait();
            inside.decrementAndGet();
            bulkhead.release();
        }

        void assertOver() {
            assertThat(overcrowded.sum()).as("more inside than the limit").isZero();
            assertThat(grantedTwice.sum()).as("granted twice").isZero();
            assertThat(grantedAfterLeaving.sum()).as("granted after leaving").isZero();
            assertThat(left.sum() + grantedLater.sum())
                    .as("left or granted, of the queued")
                    .isEqualTo(queued.sum());
            assertThat(left.sum()).as("left").isPositive();
            assertThat(grantedLater.sum()).as("granted later").isPositive();
        }

        private final class Visitor extends Waiter {
            private final boolean staysToTheEnd;
            private final AtomicInteger grants = new AtomicInteger();
            private final AtomicBoolean gone = new AtomicBoolean();

            Visitor(boolean staysToTheEnd) {
                this.staysToTheEnd = staysToTheEnd;
            }

            @Override
            protected void granted() {
                grantedLater.increment();
                if (grants.incrementAndGet() > 1) {
                    grantedTwice.increment();
                }
                if (gone.get()) {
                    grantedAfterLeaving.increment();
                }
                if (staysToTheEnd) {
                    call();
                }
            }

            void decide() {
                if (leave()) {
                    gone.set(true);
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

    /** One permit; one thread that enters numbered callers and takes some away again, and another that releases. */
    private static final class Line {
        private static final int CALLS = 300_000;

        private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 16);
        private final AtomicInteger toRelease = new AtomicInteger();
        private final AtomicBoolean over = new AtomicBoolean();

        /** Written by whoever holds the one permit: that it stays whole is part of the test. */
        private final List<Integer> served = new ArrayList<>();

        private int left;

        List<Integer> form() throws Exception {
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
