package io.weir.limit;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Options;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.StressOptions;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jetbrains.lincheck.datastructures.verifier.EpsilonVerifier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random scenarios of concurrent operations, in interleavings of Lincheck's model checker and of its stress
 * run. The model checker runs one thread at a time, so its tests run in a JVM that sees one processor: there
 * the threads that must wait sleep, and elsewhere they spin, which takes four times the processor time. The
 * stress run, with the tag {@code stress}, needs threads at the same time. After all threads have ended, no
 * permit may be lost ({@link Calls#assertNothingLost}). In addition, a sequential order of the same
 * operations on a {@link Sequential} bulkhead must explain their results, within the contract: a permit on
 * its way counts as in use. So the results of other calls are exact while no waiter leaves, or while neither
 * a resize nor a full queue reveals a permit on its way to a waiter that has just left.
 */
public class QueueingBulkheadLincheck {

    /** Many more, for a night. */
    private static final boolean LONG = Boolean.getBoolean("concurrency.long");

    /**
     * Enough to find lost requests to serve, lost permits, lost wake-ups, lost resizes, permits that are
     * promised twice, and a limit that is exceeded; with 3 and 50, not the resizes and the promises.
     */
    private static final int SCENARIOS = LONG ? 60 : 5;

    private static final int INTERLEAVINGS = LONG ? 1_500 : 150;
    private static final int MAX_THREADS = 8;

    /**
     * Critical scenarios: the steps before, then the concurrent steps. The first number is the owner of the
     * permit or waiter.
     */
    private static final List<String> CRITICAL_SCENARIOS = List.of(
            "tryAcquire(0)                   : release(0)   || enter(1)",
            "tryAcquire(0)                   : release(0)   || enter(1) abandon(1)",
            "tryAcquire(0)                   : release(0)   || enter(1) || enter(2)",
            "tryAcquire(0) enter(1)          : release(0)   || abandon(1)",
            "tryAcquire(0) enter(1)          : release(0)   || abandon(1) tryAcquire(2)",
            "tryAcquire(0) enter(1)          : release(0)   || abandon(1) enter(2)",
            "tryAcquire(0) enter(1)          : release(0)   || abandon(1) || enter(2)",
            "tryAcquire(0) enter(1)          : resize(2, 1) || abandon(1)",
            "tryAcquire(0) enter(1)          : resize(2, 1) || release(0)",
            "tryAcquire(0) enter(1)          : resize(2, 1) || abandon(1) || enter(2)",
            "tryAcquire(0)                   : resize(2, 1) || enter(1)   || enter(2)",
            "tryAcquire(0)                   : resize(2, 0) || resize(1, 1) enter(1)",
            "resize(2, 2) tryAcquire(0) tryAcquire(1) enter(2) : release(0) || release(1) || abandon(2)",
            "resize(2, 2) tryAcquire(0) tryAcquire(1) enter(2) : release(0) || release(1) || enter(3)",
            "resize(2, 2) tryAcquire(0) tryAcquire(1) enter(2) : release(0) || resize(1, 1) tryAcquire(3)");

    /** Critical scenarios with a queue of one place that evicts. */
    private static final List<String> CRITICAL_EVICTIONS = List.of(
            "tryAcquire(0) enter(1)          : enter(2)     || abandon(1)",
            "tryAcquire(0) enter(1)          : enter(2)     || release(0)",
            "tryAcquire(0) enter(1)          : enter(2)     || enter(3)",
            "tryAcquire(0) enter(1)          : enter(2)     || release(0)   || abandon(1)",
            "tryAcquire(0) enter(1)          : enter(2)     || resize(2, 1)",
            "resize(1, 2) tryAcquire(0) enter(1) enter(2) : resize(1, 1) || release(0)",
            "resize(1, 2) tryAcquire(0) enter(1) enter(2) : resize(1, 0) || abandon(1)");

    @Test
    void interleavedCallsAndResizesHaveASequentialOrder() {
        explain(new ModelCheckingOptions(), CallsAndResizes.class, Sequential.class);
    }

    @Test
    void interleavedCallsThatLeaveHaveASequentialOrder() {
        explain(new ModelCheckingOptions(), CallsThatLeave.class, SequentialWithRoom.class);
    }

    @Test
    @Tag("stress")
    void stressedCallsAndResizesHaveASequentialOrder() {
        explain(new StressOptions(), CallsAndResizes.class, Sequential.class);
    }

    @Test
    @Tag("stress")
    void stressedCallsThatLeaveHaveASequentialOrder() {
        explain(new StressOptions(), CallsThatLeave.class, SequentialWithRoom.class);
    }

    @Test
    void losesNoPermitInAnyInterleaving() throws ReflectiveOperationException {
        ModelCheckingOptions options = new ModelCheckingOptions();
        options.verifier(EpsilonVerifier.class);
        for (String scenario : CRITICAL_SCENARIOS) {
            options.addCustomScenario(parse(scenario));
        }
        check(options, Everything.class);
    }

    @Test
    void losesNoPermitInAnyInterleavingWithEvictions() throws ReflectiveOperationException {
        ModelCheckingOptions options = new ModelCheckingOptions();
        options.verifier(EpsilonVerifier.class);
        for (String scenario : CRITICAL_EVICTIONS) {
            options.addCustomScenario(parse(scenario, Evictions.class));
        }
        check(options, Evictions.class);
    }

    private static ExecutionScenario parse(String text) throws ReflectiveOperationException {
        return parse(text, Everything.class);
    }

    private static ExecutionScenario parse(String text, Class<?> operations) throws ReflectiveOperationException {
        List<String> parts = List.of(text.split(":", 2));
        List<List<Actor>> threads = new ArrayList<>();
        for (String thread : parts.get(1).split("\\|\\|", -1)) {
            threads.add(actors(thread, operations));
        }
        return new ExecutionScenario(actors(parts.getFirst(), operations), threads, List.of(), null);
    }

    private static List<Actor> actors(String text, Class<?> operations) throws ReflectiveOperationException {
        List<Actor> actors = new ArrayList<>();
        Matcher calls = Pattern.compile("(\\w+)\\((\\d+)(?:, (\\d+))?\\)").matcher(text);
        while (calls.find()) {
            List<Object> arguments = new ArrayList<>(List.of(Integer.valueOf(calls.group(2))));
            if (calls.group(3) != null) {
                arguments.add(Integer.valueOf(calls.group(3)));
            }
            Class<?>[] types = new Class<?>[arguments.size()];
            Arrays.fill(types, int.class);
            actors.add(new Actor(operations.getMethod(calls.group(1), types), arguments));
        }
        return actors;
    }

    private static void explain(Options<?, ?> options, Class<?> operations, Class<?> sequential) {
        options.sequentialSpecification(sequential);
        check(options, operations);
    }

    private static void check(Options<?, ?> options, Class<?> operations) {
        options.iterations(SCENARIOS);
        options.invocationsPerIteration(INTERLEAVINGS);
        options.threads(2);
        options.actorsPerThread(4);
        options.actorsBefore(3);
        options.actorsAfter(1);
        options.check(operations);
    }

    /** Each thread has its own permits and at most one waiter. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    public abstract static class Calls {
        final QueueingBulkhead bulkhead;
        final @Nullable Call[] waiting = new Call[MAX_THREADS];
        private final int[] permits = new int[MAX_THREADS];

        Calls(int queueCapacity) {
            this(queueCapacity, Overflow.REFUSE_NEWCOMER);
        }

        Calls(int queueCapacity, Overflow overflow) {
            bulkhead = new QueueingBulkhead(1, queueCapacity, overflow);
        }

        @Operation
        public boolean tryAcquire(@Param(name = "thread") int thread) {
            boolean acquired = bulkhead.tryAcquire();
            permits[thread] += acquired ? 1 : 0;
            return acquired;
        }

        @Operation
        public String enter(@Param(name = "thread") int thread) {
            if (waiting[thread] != null) {
                return "already queued";
            }
            Call call = new Call();
            Entry entry = bulkhead.enter(call);
            if (entry == Entry.GRANTED) {
                permits[thread]++;
            } else if (entry == Entry.QUEUED) {
                waiting[thread] = call;
            }
            return entry.name();
        }

        @Operation
        public boolean release(@Param(name = "thread") int thread) {
            if (permits[thread] == 0) {
                return false;
            }
            permits[thread]--;
            bulkhead.release();
            return true;
        }

        /** The waiters that may exceed the queue's capacity, after it was lowered. */
        int longestQueue() {
            return MAX_THREADS;
        }

        /**
         * After the end of all threads, every permit in use has a holder, and no waiter exists while a permit
         * is free.
         */
        @Validate
        public void assertNothingLost() {
            int held = 0;
            int stillWaiting = 0;
            for (int i = 0; i < MAX_THREADS; i++) {
                Call call = waiting[i];
                held += permits[i];
                if (call != null) {
                    held += call.grants;
                    stillWaiting += 1 - call.grants - call.evictions;
                }
            }
            boolean fits = bulkhead.queued() <= Math.max(bulkhead.queueCapacity(), longestQueue());
            boolean servesAll = stillWaiting == 0 || held >= bulkhead.maxConcurrentCalls();
            if (bulkhead.inUse() != held || bulkhead.queued() != stillWaiting || !servesAll || !fits) {
                throw new IllegalStateException(
                        "%s (expected: %d in use, %d queued)".formatted(bulkhead, held, stillWaiting));
            }
        }
    }

    /** The limit and the queue's capacity change while calls acquire and release. */
    @Param(name = "limit", gen = IntGen.class, conf = "1:3")
    @Param(name = "capacity", gen = IntGen.class, conf = "0:2")
    public static class CallsAndResizes extends Calls {

        /** A queue of capacity 1. */
        public CallsAndResizes() {
            super(1);
        }

        @Operation
        public void resize(@Param(name = "limit") int limit, @Param(name = "capacity") int capacity) {
            bulkhead.resize(limit, capacity);
        }
    }

    /** Waiters leave the queue. */
    @Param(name = "thread", gen = ThreadIdGen.class)
    public static class CallsThatLeave extends Calls {

        /** A queue with a place for every thread. */
        public CallsThatLeave() {
            super(MAX_THREADS);
        }

        /** Leaves, or releases the granted permit: other calls see no difference. */
        @Operation
        public boolean abandon(@Param(name = "thread") int thread) {
            Call call = waiting[thread];
            if (call == null) {
                return false;
            }
            waiting[thread] = null;
            if (!call.leave()) {
                bulkhead.release();
            }
            return true;
        }
    }

    /** All operations. */
    @Param(name = "limit", gen = IntGen.class, conf = "1:3")
    @Param(name = "capacity", gen = IntGen.class, conf = "0:2")
    public static class Everything extends CallsThatLeave {

        @Operation
        public void resize(@Param(name = "limit") int limit, @Param(name = "capacity") int capacity) {
            bulkhead.resize(limit, capacity);
        }
    }

    /** All operations on a queue that evicts: it is never too long once all threads have ended. */
    @Param(name = "limit", gen = IntGen.class, conf = "1:3")
    @Param(name = "capacity", gen = IntGen.class, conf = "0:2")
    @Param(name = "thread", gen = ThreadIdGen.class)
    public static class Evictions extends Calls {

        /** A queue of capacity 1. */
        public Evictions() {
            super(1, Overflow.EVICT_OLDEST);
        }

        /** Leaves, or releases the granted permit, or was evicted. */
        @Operation
        public void abandon(@Param(name = "thread") int thread) {
            Call call = waiting[thread];
            waiting[thread] = null;
            if (call != null && !call.expire()) {
                bulkhead.release();
            }
        }

        @Operation
        public void resize(@Param(name = "limit") int limit, @Param(name = "capacity") int capacity) {
            bulkhead.resize(limit, capacity);
        }

        @Override
        int longestQueue() {
            return 0;
        }
    }

    private static final class Call extends Waiter {
        private volatile int grants;
        private volatile int evictions;

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate")
        protected void evicted() {
            evictions++;
        }

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate") // Two grants of one waiter are the defect to be found.
        protected void granted() {
            grants++;
        }
    }

    /** The specification: a bulkhead for one thread. */
    public static class Sequential {
        private int limit = 1;
        private int capacity;
        private int inUse;
        private final Queue<Integer> queue = new ArrayDeque<>();
        private final List<Integer> granted = new ArrayList<>();
        private final int[] permits = new int[MAX_THREADS];

        /** A queue of capacity 1. */
        public Sequential() {
            this(1);
        }

        Sequential(int capacity) {
            this.capacity = capacity;
        }

        public boolean tryAcquire(int thread) {
            if (inUse >= limit) {
                return false;
            }
            inUse++;
            permits[thread]++;
            return true;
        }

        public String enter(int thread) {
            if (queue.contains(thread) || granted.contains(thread)) {
                return "already queued";
            }
            if (tryAcquire(thread)) {
                return "GRANTED";
            }
            if (queue.size() >= capacity) {
                return "FULL";
            }
            queue.add(thread);
            return "QUEUED";
        }

        public boolean abandon(int thread) {
            if (granted.remove((Integer) thread)) {
                inUse--;
                grantWaiters();
                return true;
            }
            return queue.remove(thread);
        }

        public boolean release(int thread) {
            if (permits[thread] == 0) {
                return false;
            }
            permits[thread]--;
            inUse--;
            grantWaiters();
            return true;
        }

        public void resize(int newLimit, int newCapacity) {
            limit = newLimit;
            capacity = newCapacity;
            grantWaiters();
        }

        private void grantWaiters() {
            while (inUse < limit && !queue.isEmpty()) {
                granted.add(queue.remove());
                inUse++;
            }
        }
    }

    /** The specification with a place in the queue for every thread. */
    public static class SequentialWithRoom extends Sequential {
        public SequentialWithRoom() {
            super(MAX_THREADS);
        }
    }
}
