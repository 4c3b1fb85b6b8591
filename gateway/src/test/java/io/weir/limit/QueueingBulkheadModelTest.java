package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.testing.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Compares the bulkhead with a simple sequential model under random operations, one at a time. */
class QueueingBulkheadModelTest {

    private static final int RUNS = Tier.choose(1_000, 3_000);
    private static final int OPERATIONS = 150;

    /** Replays one run: {@code -Dbulkhead.seed=SEED}, with the seed in the failure's message. */
    private static final String SEED = "bulkhead.seed";

    @Test
    void behavesLikeTheModelUnderRandomOperations() {
        RandomRuns.play("bulkhead", SEED, RUNS, seed -> new RandomRun(seed).play());
    }

    /** The specified behaviour, for sequential use. */
    private static final class Model {
        private int limit;
        private int capacity;
        private int inUse;
        private final List<Caller> queue = new ArrayList<>();
        private final List<Integer> granted = new ArrayList<>();

        Model(int limit, int capacity) {
            this.limit = limit;
            this.capacity = capacity;
        }

        boolean tryAcquire() {
            if (inUse >= limit) {
                return false;
            }
            inUse++;
            return true;
        }

        Entry enter(Caller caller) {
            if (tryAcquire()) {
                return Entry.GRANTED;
            }
            if (queue.size() >= capacity) {
                return Entry.FULL;
            }
            queue.add(caller);
            return Entry.QUEUED;
        }

        void release() {
            inUse--;
            admitWaiters();
        }

        boolean leave(Caller caller) {
            return queue.remove(caller);
        }

        void resize(int newLimit, int newCapacity) {
            limit = newLimit;
            capacity = newCapacity;
            admitWaiters();
        }

        private void admitWaiters() {
            while (inUse < limit && !queue.isEmpty()) {
                Caller first = queue.removeFirst();
                granted.add(first.number);
                inUse += first.releasesAtOnce ? 0 : 1;
            }
        }
    }

    private static final class Caller extends Waiter {
        private final int number;
        private final boolean releasesAtOnce;
        private final QueueingBulkhead bulkhead;
        private final List<Integer> granted;

        Caller(int number, boolean releasesAtOnce, QueueingBulkhead bulkhead, List<Integer> granted) {
            this.number = number;
            this.releasesAtOnce = releasesAtOnce;
            this.bulkhead = bulkhead;
            this.granted = granted;
        }

        @Override
        protected void granted() {
            granted.add(number);
            if (releasesAtOnce) {
                bulkhead.release();
            }
        }
    }

    private static final class RandomRun {
        private final Random random;
        private final Model model;
        private final QueueingBulkhead bulkhead;
        private final List<Integer> granted = new ArrayList<>();
        private final List<Caller> queued = new ArrayList<>();
        private final StringBuilder history = new StringBuilder();

        RandomRun(long seed) {
            random = new Random(seed);
            int limit = 1 + random.nextInt(4);
            int capacity = random.nextInt(5);
            model = new Model(limit, capacity);
            bulkhead = new QueueingBulkhead(limit, capacity);
            history.append("-D%s=%d: new(%d, %d)".formatted(SEED, seed, limit, capacity));
        }

        void play() {
            for (int i = 0; i < OPERATIONS; i++) {
                operate(i);
                compare(bulkhead.inUse(), model.inUse);
                compare(bulkhead.queued(), model.queue.size());
                compare(bulkhead.maxConcurrentCalls(), model.limit);
                compare(bulkhead.queueCapacity(), model.capacity);
                compare(granted, model.granted);
            }
        }

        private void operate(int number) {
            switch (random.nextInt(8)) {
                case 0 -> {
                    history.append(" tryAcquire");
                    compare(bulkhead.tryAcquire(), model.tryAcquire());
                }
                case 1, 2, 3 -> enter(new Caller(number, random.nextInt(4) == 0, bulkhead, granted));
                case 4, 5 -> release();
                case 6 -> leave();
                default -> resize(1 + random.nextInt(4), random.nextInt(5));
            }
        }

        private void enter(Caller caller) {
            history.append(" enter(%d%s)".formatted(caller.number, caller.releasesAtOnce ? ", releases at once" : ""));
            Entry entry = bulkhead.enter(caller);
            compare(entry, model.enter(caller));
            if (entry == Entry.QUEUED) {
                queued.add(caller);
            }
        }

        private void release() {
            if (model.inUse > 0) {
                history.append(" release");
                bulkhead.release();
                model.release();
            }
        }

        /** Leaves with a waiter that is queued, has left, or was granted a permit. */
        private void leave() {
            if (!queued.isEmpty()) {
                Caller caller = queued.get(random.nextInt(queued.size()));
                history.append(" leave(%d)".formatted(caller.number));
                boolean hadLeft = !model.queue.contains(caller) && !model.granted.contains(caller.number);
                compare(caller.leave(), model.leave(caller) || hadLeft);
            }
        }

        private void resize(int limit, int capacity) {
            history.append(" resize(%d, %d)".formatted(limit, capacity));
            bulkhead.resize(limit, capacity);
            model.resize(limit, capacity);
        }

        private void compare(Object actual, Object expected) {
            assertThat(actual).as(() -> history.toString()).isEqualTo(expected);
        }
    }
}
