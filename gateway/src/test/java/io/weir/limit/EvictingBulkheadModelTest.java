package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import io.weir.testing.Tier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Compares an evicting bulkhead, with guaranteed calls, priorities and tenants, with a simple sequential
 * model under random operations, one at a time.
 */
class EvictingBulkheadModelTest {

    private static final int RUNS = Tier.choose(500, 2_000);
    private static final int OPERATIONS = 200;

    /** Replays one run: {@code -Devicting.seed=SEED}, with the seed in the failure's message. */
    private static final String SEED = "evicting.seed";

    @Test
    void behavesLikeTheModelUnderRandomOperations() {
        RandomRuns.play("evicting bulkhead", SEED, RUNS, seed -> new RandomRun(seed).play());
    }

    /** The calls of one tenant and rank. */
    private static final class ModelQueue {
        final int rank;
        final @Nullable String tenant;
        final List<Caller> calls = new ArrayList<>();
        boolean newestFirst;

        ModelQueue(int rank, @Nullable String tenant) {
            this.rank = rank;
            this.tenant = tenant;
        }
    }

    /** The specified behaviour: in the list, the queues of each rank are in the order of their turns. */
    private static final class Model {
        private int limit;
        private int capacity;
        private int inUse;
        private int passedOver;
        private final List<ModelQueue> queues = new ArrayList<>();
        private final List<Integer> granted = new ArrayList<>();

        int queued() {
            return queues.stream().mapToInt(queue -> queue.calls.size()).sum();
        }

        void add(Caller caller) {
            ModelQueue own = queueOf(caller);
            if (own == null) {
                own = new ModelQueue(caller.rank(), caller.tenant);
                queues.add(own);
            }
            own.calls.add(caller);
        }

        @Nullable
        ModelQueue queueOf(Caller caller) {
            return queues.stream()
                    .filter(queue -> queue.rank == caller.rank()
                            && String.valueOf(queue.tenant).equals(String.valueOf(caller.tenant)))
                    .findFirst()
                    .orElse(null);
        }

        void remove(Caller caller) {
            ModelQueue own = Objects.requireNonNull(queueOf(caller));
            own.calls.remove(caller);
            if (own.calls.isEmpty()) {
                queues.remove(own);
            }
        }

        boolean contains(Caller caller) {
            ModelQueue own = queueOf(caller);
            return own != null && own.calls.contains(caller);
        }

        void grantWaiters() {
            while (inUse < limit && !queues.isEmpty()) {
                int highest = queues.stream()
                        .map(queue -> queue.rank)
                        .min(Comparator.naturalOrder())
                        .get();
                int lowest = queues.stream()
                        .map(queue -> queue.rank)
                        .max(Comparator.naturalOrder())
                        .get();
                int chosen = highest;
                if (highest != lowest && ++passedOver == WaitingCalls.RESERVE_ONE_IN) {
                    passedOver = 0;
                    chosen = lowest;
                }
                int served = chosen;
                ModelQueue queue = queues.stream()
                        .filter(each -> each.rank == served)
                        .findFirst()
                        .get();
                Caller next = queue.newestFirst ? queue.calls.getLast() : queue.calls.getFirst();
                // Its turn is over, also if it has no other call.
                queues.remove(queue);
                queues.add(queue);
                remove(next);
                granted.add(next.number);
                inUse += next.releasesAtOnce ? 0 : 1;
            }
        }

        /** The calls of which any may be evicted: tenants with equally many waiters are equal. */
        List<Caller> candidates() {
            int reserve = capacity < 2 ? 0 : Math.max(1, capacity / WaitingCalls.RESERVE_ONE_IN);
            int lowest = queues.stream()
                    .map(queue -> queue.rank)
                    .max(Comparator.naturalOrder())
                    .get();
            int higher = queues.stream()
                    .map(queue -> queue.rank)
                    .filter(rank -> rank != lowest)
                    .max(Comparator.naturalOrder())
                    .orElse(lowest);
            int evicted = size(lowest) > reserve ? lowest : higher;
            int longest = queues.stream()
                    .filter(queue -> queue.rank == evicted)
                    .mapToInt(queue -> queue.calls.size())
                    .max()
                    .getAsInt();
            return queues.stream()
                    .filter(queue -> queue.rank == evicted && queue.calls.size() == longest)
                    .map(queue -> queue.calls.getFirst())
                    .toList();
        }

        private int size(int rank) {
            return queues.stream()
                    .filter(queue -> queue.rank == rank)
                    .mapToInt(queue -> queue.calls.size())
                    .sum();
        }
    }

    private static final class Caller extends Waiter {
        private final int number;
        private final boolean releasesAtOnce;
        private final boolean isGuaranteed;
        private final Priority priority;
        private final @Nullable String tenant;
        private final RandomRun run;

        Caller(int number, RandomRun run) {
            this.number = number;
            this.releasesAtOnce = run.random.nextInt(4) == 0;
            this.isGuaranteed = run.random.nextInt(6) == 0;
            this.priority = List.of(Priority.values()).get(run.random.nextInt(3));
            this.tenant = run.tenants == 0 ? null : "t" + run.random.nextInt(run.tenants);
            this.run = run;
        }

        int rank() {
            return isGuaranteed ? -1 : priority.rank();
        }

        @Override
        protected boolean isGuaranteed() {
            return isGuaranteed;
        }

        @Override
        protected void granted() {
            run.granted.add(number);
            if (releasesAtOnce) {
                run.bulkhead.release();
            }
        }

        @Override
        protected void evicted() {
            run.evicted.add(this);
        }

        @Override
        protected Priority priority() {
            return priority;
        }

        @Override
        protected @Nullable String tenant() {
            return tenant;
        }
    }

    private static final class RandomRun {
        private final Random random;
        private final int tenants;
        private final Model model = new Model();
        private final QueueingBulkhead bulkhead;
        private final List<Integer> granted = new ArrayList<>();
        private final List<Caller> evicted = new ArrayList<>();
        private final List<Caller> queued = new ArrayList<>();
        private final StringBuilder history = new StringBuilder();

        RandomRun(long seed) {
            random = new Random(seed);
            model.limit = 1 + random.nextInt(4);
            model.capacity = random.nextInt(9);
            tenants = random.nextInt(5);
            bulkhead = new QueueingBulkhead(model.limit, model.capacity, Overflow.EVICT_OLDEST);
            history.append("-D%s=%d: new(%d, %d)".formatted(SEED, seed, model.limit, model.capacity));
        }

        void play() {
            for (int i = 0; i < OPERATIONS; i++) {
                operate(i);
                evict();
                compare(bulkhead.inUse(), model.inUse);
                compare(bulkhead.queued(), model.queued());
                compare(granted, model.granted);
            }
        }

        /** Each evicted call was one that the model could evict at that moment. */
        private void evict() {
            for (Caller caller : evicted) {
                assertThat(model.candidates()).as(() -> history.toString()).contains(caller);
                Objects.requireNonNull(model.queueOf(caller)).newestFirst = true;
                model.remove(caller);
            }
            evicted.clear();
            assertThat(model.queued()).as(() -> history.toString()).isLessThanOrEqualTo(model.capacity);
        }

        private void operate(int number) {
            switch (random.nextInt(9)) {
                case 0 -> {
                    history.append(" tryAcquire");
                    boolean free = model.inUse < model.limit;
                    model.inUse += free ? 1 : 0;
                    compare(bulkhead.tryAcquire(), free);
                }
                case 1, 2, 3, 4 -> enter(new Caller(number, this));
                case 5, 6 -> release();
                case 7 -> leave();
                default -> resize(1 + random.nextInt(4), random.nextInt(9));
            }
        }

        private void enter(Caller caller) {
            history.append(" enter(%d %d %s)".formatted(caller.number, caller.rank(), caller.tenant));
            Entry entry = bulkhead.enter(caller);
            if (model.inUse < model.limit) {
                model.inUse++;
                compare(entry, Entry.GRANTED);
            } else if (model.capacity == 0) {
                compare(entry, Entry.FULL);
            } else {
                compare(entry, Entry.QUEUED);
                model.add(caller);
                queued.add(caller);
            }
        }

        private void release() {
            if (model.inUse > 0) {
                history.append(" release");
                bulkhead.release();
                model.inUse--;
                model.grantWaiters();
            }
        }

        /** Leaves with a waiter that is queued, has left, was evicted, or was granted a permit. */
        private void leave() {
            if (!queued.isEmpty()) {
                Caller caller = queued.get(random.nextInt(queued.size()));
                boolean expires = random.nextBoolean();
                history.append(" %s(%d)".formatted(expires ? "expire" : "leave", caller.number));
                boolean waits = model.contains(caller);
                boolean wasGranted = model.granted.contains(caller.number);
                compare(expires ? caller.expire() : caller.leave(), !wasGranted);
                if (waits) {
                    if (expires) {
                        Objects.requireNonNull(model.queueOf(caller)).newestFirst = true;
                    }
                    model.remove(caller);
                }
            }
        }

        private void resize(int limit, int capacity) {
            history.append(" resize(%d, %d)".formatted(limit, capacity));
            bulkhead.resize(limit, capacity);
            model.limit = limit;
            model.capacity = capacity;
            model.grantWaiters();
        }

        private void compare(Object actual, Object expected) {
            assertThat(actual).as(() -> history.toString()).isEqualTo(expected);
        }
    }
}
