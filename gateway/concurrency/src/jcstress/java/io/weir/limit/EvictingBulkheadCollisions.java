package io.weir.limit;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.weir.limit.QueueingBulkhead.Overflow;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLLL_Result;
import org.openjdk.jcstress.infra.results.LLL_Result;

/**
 * Pairs of concurrent operations on a bulkhead that evicts. A waiter's outcome is {@code G} for each grant
 * and {@code E} for each eviction, or {@code -}. An outcome ends with the bulkhead's figures: permits in use
 * + queued calls. Outcomes that are not listed are forbidden.
 */
public final class EvictingBulkheadCollisions {

    private EvictingBulkheadCollisions() {}

    /** A waiter that records its outcome. */
    static final class Call extends Waiter {
        private volatile String fate = "";

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate") // Two fates of one waiter are the defect to be found.
        protected void granted() {
            fate += "G";
        }

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate")
        protected void evicted() {
            fate += "E";
        }

        String fate() {
            return fate.isEmpty() ? "-" : fate;
        }
    }

    static QueueingBulkhead full(int queueCapacity) {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, queueCapacity, Overflow.EVICT_OLDEST);
        bulkhead.tryAcquire();
        return bulkhead;
    }

    static String figures(QueueingBulkhead bulkhead) {
        return bulkhead.inUse() + "+" + bulkhead.queued();
    }

    /** Two calls enter a queue that is full with a third. */
    @JCStressTest
    @Outcome(id = "E, E, -, 1[+]1", expect = ACCEPTABLE, desc = "The second call was newer.")
    @Outcome(id = "E, -, E, 1[+]1", expect = ACCEPTABLE, desc = "The first call was newer.")
    @Outcome(id = "-, .*", expect = FORBIDDEN, desc = "The oldest was not evicted.")
    @Outcome(id = ".*, 1[+]0", expect = FORBIDDEN, desc = "Evicted although a place was free.")
    @State
    public static class TwoEnterAFullQueue {
        private final QueueingBulkhead bulkhead = full(1);
        private final Call oldest = new Call();
        private final Call one = new Call();
        private final Call other = new Call();

        public TwoEnterAFullQueue() {
            bulkhead.enter(oldest);
        }

        @Actor
        public void enter() {
            bulkhead.enter(one);
        }

        @Actor
        public void enterToo() {
            bulkhead.enter(other);
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            r.r1 = oldest.fate();
            r.r2 = one.fate();
            r.r3 = other.fate();
            r.r4 = figures(bulkhead);
        }
    }

    /** A call enters a full queue while its waiter leaves. */
    @JCStressTest
    @Outcome(id = "true, -, -, 1[+]1", expect = ACCEPTABLE, desc = "Left in time: nobody was evicted.")
    @Outcome(id = "true, E, -, 1[+]1", expect = ACCEPTABLE, desc = "Evicted in time; it has left all the same.")
    @Outcome(id = "false, .*", expect = FORBIDDEN, desc = "No permit was free: it must have left.")
    @Outcome(id = ".*, 1[+][02]", expect = FORBIDDEN, desc = "A place is lost, or taken twice.")
    @State
    public static class EvictionMeetsLeave {
        private final QueueingBulkhead bulkhead = full(1);
        private final Call oldest = new Call();
        private final Call newest = new Call();

        public EvictionMeetsLeave() {
            bulkhead.enter(oldest);
        }

        @Actor
        public void enter() {
            bulkhead.enter(newest);
        }

        @Actor
        public void leave(LLLL_Result r) {
            r.r1 = oldest.leave();
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            r.r2 = oldest.fate();
            r.r3 = newest.fate();
            r.r4 = figures(bulkhead);
        }
    }

    /** A call enters a full queue while the permit is released. */
    @JCStressTest
    @Outcome(id = "G, -, 1[+]1", expect = ACCEPTABLE, desc = "Released first: the place was free.")
    @Outcome(id = "E, G, 1[+]0", expect = ACCEPTABLE, desc = "Entered first: the newest got the permit.")
    @Outcome(id = "-, G, 1[+]1", expect = FORBIDDEN, desc = "Overtaken in a queue that refused no call.")
    @Outcome(id = "E, E, .*", expect = FORBIDDEN, desc = "Both evicted although a permit was free.")
    @Outcome(id = "E, -, .*", expect = FORBIDDEN, desc = "The permit or the waiter is lost.")
    @Outcome(id = ".*, 0[+].*", expect = FORBIDDEN, desc = "The permit in use is not counted: one call too many.")
    @State
    public static class EvictionMeetsRelease {
        private final QueueingBulkhead bulkhead = full(1);
        private final Call oldest = new Call();
        private final Call newest = new Call();

        public EvictionMeetsRelease() {
            bulkhead.enter(oldest);
        }

        @Actor
        public void enter() {
            bulkhead.enter(newest);
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r1 = oldest.fate();
            r.r2 = newest.fate();
            r.r3 = figures(bulkhead);
        }
    }

    /** The queue shrinks from two to one while its first waiter expires. */
    @JCStressTest
    @Outcome(id = "true, -, -, 1[+]1", expect = ACCEPTABLE, desc = "Expired first: nobody was evicted.")
    @Outcome(id = "true, E, -, 1[+]1", expect = ACCEPTABLE, desc = "Evicted first; it has left all the same.")
    @Outcome(id = ".*, E, 1[+].*", expect = FORBIDDEN, desc = "The newest was evicted although a place was free.")
    @Outcome(id = "false, .*", expect = FORBIDDEN, desc = "No permit was free: it must have left.")
    @State
    public static class ShrinkingMeetsExpiry {
        private final QueueingBulkhead bulkhead = full(2);
        private final Call oldest = new Call();
        private final Call newest = new Call();

        public ShrinkingMeetsExpiry() {
            bulkhead.enter(oldest);
            bulkhead.enter(newest);
        }

        @Actor
        public void shrink() {
            bulkhead.resize(1, 1);
        }

        @Actor
        public void expire(LLLL_Result r) {
            r.r1 = oldest.expire();
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            r.r2 = oldest.fate();
            r.r3 = newest.fate();
            r.r4 = figures(bulkhead);
        }
    }
}
