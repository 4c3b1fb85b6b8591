package io.weir.limit;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLLL_Result;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.LL_Result;

/**
 * Pairs of concurrent operations, on real hardware and with every compiler. An outcome ends with the
 * bulkhead's figures after both operations: permits in use + queued calls. Outcomes that are not listed are
 * forbidden.
 */
public final class QueueingBulkheadCollisions {

    private QueueingBulkheadCollisions() {}

    /** A waiter that counts how often it was granted a permit. */
    static final class Call extends Waiter {
        private volatile int grants;

        @Override
        @SuppressWarnings("NonAtomicVolatileUpdate") // Two grants of one waiter are the defect to be found.
        protected void granted() {
            grants++;
        }
    }

    static QueueingBulkhead full(int maxConcurrentCalls, int queueCapacity) {
        QueueingBulkhead bulkhead = new QueueingBulkhead(maxConcurrentCalls, queueCapacity);
        for (int i = 0; i < maxConcurrentCalls; i++) {
            bulkhead.tryAcquire();
        }
        return bulkhead;
    }

    static String figures(QueueingBulkhead bulkhead) {
        return bulkhead.inUse() + "+" + bulkhead.queued();
    }

    /** The only permit is released while a call enters. */
    @JCStressTest
    @Outcome(id = "GRANTED, 0, 1[+]0", expect = ACCEPTABLE, desc = "Released first: the permit was free.")
    @Outcome(id = "QUEUED, 1, 1[+]0", expect = ACCEPTABLE, desc = "Entered first: the permit passed to the waiter.")
    @Outcome(id = "QUEUED, 0, .*", expect = FORBIDDEN, desc = "Lost wake-up: waits although no permit is in use.")
    @Outcome(id = "GRANTED, 1, .*", expect = FORBIDDEN, desc = "Granted twice: on entry and by the release.")
    @Outcome(id = ".*, 0[+].*", expect = FORBIDDEN, desc = "The permit in use is not counted: one call too many.")
    @State
    public static class ReleaseMeetsEnter {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Actor
        public void enter(LLL_Result r) {
            r.r1 = bulkhead.enter(call);
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The only permit is released while the only waiter leaves. */
    @JCStressTest
    @Outcome(id = "true, 0, 0[+]0", expect = ACCEPTABLE, desc = "Left in time: the permit is free.")
    @Outcome(id = "false, 1, 1[+]0", expect = ACCEPTABLE, desc = "Granted in time: the waiter has to release it.")
    @Outcome(id = "true, 0, 1[+]0", expect = FORBIDDEN, desc = "Permit lost: granted to a waiter that had left.")
    @Outcome(id = "true, 1, .*", expect = FORBIDDEN, desc = "Granted a permit after it had left: the permit is lost.")
    @Outcome(id = "false, 0, .*", expect = FORBIDDEN, desc = "Neither left nor granted.")
    @State
    public static class LeaveMeetsRelease {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        public LeaveMeetsRelease() {
            bulkhead.enter(call);
        }

        @Actor
        public void leave(LLL_Result r) {
            r.r1 = call.leave();
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The only permit is released while the first of two waiters leaves. */
    @JCStressTest
    @Outcome(id = "true, 0, 1, 1[+]0", expect = ACCEPTABLE, desc = "Left in time: the permit went to the second.")
    @Outcome(id = "false, 1, 0, 1[+]1", expect = ACCEPTABLE, desc = "Granted in time: the second waits for it.")
    @Outcome(
            id = "true, 0, 0, .*",
            expect = FORBIDDEN,
            desc = "The leaving waiter kept the permit: the second is stuck.")
    @Outcome(id = "false, 1, 1, .*", expect = FORBIDDEN, desc = "One permit for two calls.")
    @Outcome(id = "true, 1, .*", expect = FORBIDDEN, desc = "Granted a permit after it had left: the permit is lost.")
    @Outcome(id = "false, 0, .*", expect = FORBIDDEN, desc = "Neither left nor granted.")
    @State
    public static class LeaveOfTheFirstMeetsRelease {
        private final QueueingBulkhead bulkhead = full(1, 2);
        private final Call first = new Call();
        private final Call second = new Call();

        public LeaveOfTheFirstMeetsRelease() {
            bulkhead.enter(first);
            bulkhead.enter(second);
        }

        @Actor
        public void leave(LLLL_Result r) {
            r.r1 = first.leave();
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            r.r2 = first.grants;
            r.r3 = second.grants;
            r.r4 = figures(bulkhead);
        }
    }

    /**
     * A waiter leaves on another thread while it still enters. The figures are taken before and after a
     * release.
     */
    @JCStressTest
    @Outcome(
            id = "QUEUED, true, 0, 1[+]0 0[+]0",
            expect = ACCEPTABLE,
            desc = "Left before, while or after it was linked.")
    @Outcome(
            id = ".*, true, 0, 1[+]1 .*",
            expect = FORBIDDEN,
            desc = "The waiter has left, and its place is still occupied.")
    @Outcome(id = ".*, true, 0, .* 1[+]0", expect = FORBIDDEN, desc = "Permit lost: granted to a waiter that had left.")
    @Outcome(
            id = ".*, true, 1, .*",
            expect = FORBIDDEN,
            desc = "Granted a permit after it had left: the permit is lost.")
    @Outcome(id = ".*, false, .*", expect = FORBIDDEN, desc = "leave() reports a permit that was never granted.")
    @State
    public static class LeaveMeetsEnter {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        @Actor
        public void enter(LLLL_Result r) {
            r.r1 = bulkhead.enter(call);
        }

        @Actor
        public void leave(LLLL_Result r) {
            r.r2 = call.leave();
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            String before = figures(bulkhead);
            bulkhead.release();
            r.r3 = call.grants;
            r.r4 = before + " " + figures(bulkhead);
        }
    }

    /** A waiter leaves on another thread while it is granted a permit on entry. */
    @JCStressTest
    @Outcome(id = "QUEUED, true, 0, 0[+]0", expect = ACCEPTABLE, desc = "Left first: no permit is out.")
    @Outcome(
            id = "GRANTED, false, 0, 1[+]0",
            expect = ACCEPTABLE,
            desc = "Granted first: it has to release the permit.")
    @Outcome(id = "GRANTED, true, .*", expect = FORBIDDEN, desc = "Granted, although leave() reports that it was not.")
    @Outcome(id = "QUEUED, .*, 1[+].*", expect = FORBIDDEN, desc = "A permit without a holder.")
    @State
    public static class LeaveMeetsGrantOnEntry {
        private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1);
        private final Call call = new Call();

        @Actor
        public void enter(LLLL_Result r) {
            r.r1 = bulkhead.enter(call);
        }

        @Actor
        public void leave(LLLL_Result r) {
            r.r2 = call.leave();
        }

        @Arbiter
        public void afterwards(LLLL_Result r) {
            r.r3 = call.grants;
            r.r4 = figures(bulkhead);
        }
    }

    /** Both permits are released while two calls wait. */
    @JCStressTest
    @Outcome(id = "1, 1, 2[+]0", expect = ACCEPTABLE, desc = "Each waiter got one permit.")
    @Outcome(id = "2, 0, .*|0, 2, .*", expect = FORBIDDEN, desc = "One waiter got both.")
    @Outcome(id = "1, 0, .*|0, 1, .*|0, 0, .*", expect = FORBIDDEN, desc = "Lost wake-up: a call waits forever.")
    @State
    public static class TwoReleasesMeetTwoWaiters {
        private final QueueingBulkhead bulkhead = full(2, 2);
        private final Call first = new Call();
        private final Call second = new Call();

        public TwoReleasesMeetTwoWaiters() {
            bulkhead.enter(first);
            bulkhead.enter(second);
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Actor
        public void releaseToo() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r1 = first.grants;
            r.r2 = second.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The only permit is released to a waiter while a new call requests a permit. */
    @JCStressTest
    @Outcome(id = "false, 1, 1[+]0", expect = ACCEPTABLE, desc = "The permit passed to the waiter and was never free.")
    @Outcome(id = "true, .*", expect = FORBIDDEN, desc = "The new call overtook the queue.")
    @Outcome(id = "false, 0, .*", expect = FORBIDDEN, desc = "Lost wake-up: waits although no permit is in use.")
    @State
    public static class ReleaseToAWaiterMeetsANewCall {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        public ReleaseToAWaiterMeetsANewCall() {
            bulkhead.enter(call);
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Actor
        public void tryAcquire(LLL_Result r) {
            r.r1 = bulkhead.tryAcquire();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** Two new calls request the only permit. */
    @JCStressTest
    @Outcome(id = "true, false, 1[+]0", expect = ACCEPTABLE, desc = "The first got it.")
    @Outcome(id = "false, true, 1[+]0", expect = ACCEPTABLE, desc = "The second got it.")
    @Outcome(id = "true, true, .*", expect = FORBIDDEN, desc = "One permit for two calls.")
    @Outcome(id = "false, false, .*", expect = FORBIDDEN, desc = "Both refused although the permit was free.")
    @State
    public static class TwoMeetOnePermit {
        private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 0);

        @Actor
        public void tryAcquire(LLL_Result r) {
            r.r1 = bulkhead.tryAcquire();
        }

        @Actor
        public void tryAcquireToo(LLL_Result r) {
            r.r2 = bulkhead.tryAcquire();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r3 = figures(bulkhead);
        }
    }

    /** Two calls enter a queue with one place. */
    @JCStressTest
    @Outcome(id = "QUEUED, FULL, 1[+]1", expect = ACCEPTABLE, desc = "The first got the place.")
    @Outcome(id = "FULL, QUEUED, 1[+]1", expect = ACCEPTABLE, desc = "The second got the place.")
    @Outcome(id = "QUEUED, QUEUED, .*", expect = FORBIDDEN, desc = "The queue is longer than its capacity.")
    @Outcome(id = "FULL, FULL, .*", expect = FORBIDDEN, desc = "Both refused although a place was free.")
    @State
    public static class TwoMeetOnePlace {
        private final QueueingBulkhead bulkhead = full(1, 1);

        @Actor
        public void enter(LLL_Result r) {
            r.r1 = bulkhead.enter(new Call());
        }

        @Actor
        public void enterToo(LLL_Result r) {
            r.r2 = bulkhead.enter(new Call());
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r3 = figures(bulkhead);
        }
    }

    /** The limit grows from one to two and the permit in use is released, while two calls wait. */
    @JCStressTest
    @Outcome(id = "1, 1, 2[+]0", expect = ACCEPTABLE, desc = "Both got a permit.")
    @Outcome(id = "1, 0, .*", expect = FORBIDDEN, desc = "The second waits while a permit is free.")
    @Outcome(id = "0, .*", expect = FORBIDDEN, desc = "The first waits, or was overtaken.")
    @State
    public static class GrowthMeetsRelease {
        private final QueueingBulkhead bulkhead = full(1, 2);
        private final Call first = new Call();
        private final Call second = new Call();

        public GrowthMeetsRelease() {
            bulkhead.enter(first);
            bulkhead.enter(second);
        }

        @Actor
        public void grow() {
            bulkhead.resize(2, 2);
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r1 = first.grants;
            r.r2 = second.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The limit grows from one to two while a call enters. */
    @JCStressTest
    @Outcome(id = "GRANTED, 0, 2[+]0", expect = ACCEPTABLE, desc = "Grown first: a permit was free.")
    @Outcome(id = "QUEUED, 1, 2[+]0", expect = ACCEPTABLE, desc = "Entered first: the growth granted a permit.")
    @Outcome(id = "QUEUED, 0, .*", expect = FORBIDDEN, desc = "The call waits although a permit is free.")
    @Outcome(id = "FULL, .*", expect = FORBIDDEN, desc = "Refused although a place was free before and a permit after.")
    @State
    public static class GrowthMeetsEnter {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        @Actor
        public void grow() {
            bulkhead.resize(2, 1);
        }

        @Actor
        public void enter(LLL_Result r) {
            r.r1 = bulkhead.enter(call);
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The limit grows from one to two while the only waiter leaves. */
    @JCStressTest
    @Outcome(id = "true, 0, 1[+]0", expect = ACCEPTABLE, desc = "Left in time: the new permit is free.")
    @Outcome(id = "false, 1, 2[+]0", expect = ACCEPTABLE, desc = "Granted in time: the waiter has to release it.")
    @Outcome(id = "true, 0, 2[+]0", expect = FORBIDDEN, desc = "Permit lost: granted to a waiter that had left.")
    @Outcome(id = "true, 1, .*", expect = FORBIDDEN, desc = "Granted a permit after it had left: the permit is lost.")
    @State
    public static class GrowthMeetsLeave {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        public GrowthMeetsLeave() {
            bulkhead.enter(call);
        }

        @Actor
        public void grow() {
            bulkhead.resize(2, 1);
        }

        @Actor
        public void leave(LLL_Result r) {
            r.r1 = call.leave();
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** The limit shrinks from two to one while one of two permits is released and a call waits. */
    @JCStressTest
    @Outcome(id = "0, 1[+]1", expect = ACCEPTABLE, desc = "Shrunk first: the permit was withdrawn, the waiter waits.")
    @Outcome(id = "1, 2[+]0", expect = ACCEPTABLE, desc = "Released first: the permit passed to the waiter before.")
    @Outcome(id = "0, 2[+]1", expect = FORBIDDEN, desc = "The permit is lost.")
    @Outcome(id = "1, 1[+].*", expect = FORBIDDEN, desc = "The waiter's permit is not counted: one call too many.")
    @State
    public static class ShrinkingMeetsRelease {
        private final QueueingBulkhead bulkhead = full(2, 1);
        private final Call call = new Call();

        public ShrinkingMeetsRelease() {
            bulkhead.enter(call);
        }

        @Actor
        public void shrink() {
            bulkhead.resize(1, 1);
        }

        @Actor
        public void release() {
            bulkhead.release();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = call.grants;
            r.r2 = figures(bulkhead);
        }
    }

    /**
     * The limit grows from one to two and the queue shrinks from one to none: a call must not see only one
     * change.
     */
    @JCStressTest
    @Outcome(
            id = "QUEUED, 1, 2[+]0",
            expect = ACCEPTABLE,
            desc = "Entered before: it waited, and the growth granted a permit.")
    @Outcome(id = "GRANTED, 0, 2[+]0", expect = ACCEPTABLE, desc = "Entered after the resize.")
    @Outcome(id = "FULL, .*", expect = FORBIDDEN, desc = "Saw the new capacity with the old limit.")
    @Outcome(id = "QUEUED, 0, .*", expect = FORBIDDEN, desc = "The call waits although a permit is free.")
    @State
    public static class ResizeOfBothMeetsEnter {
        private final QueueingBulkhead bulkhead = full(1, 1);
        private final Call call = new Call();

        @Actor
        public void resize() {
            bulkhead.resize(2, 0);
        }

        @Actor
        public void enter(LLL_Result r) {
            r.r1 = bulkhead.enter(call);
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r2 = call.grants;
            r.r3 = figures(bulkhead);
        }
    }

    /** Two concurrent resizes. */
    @JCStressTest
    @Outcome(id = "2, 20, 3[+]0", expect = ACCEPTABLE, desc = "The smaller resize was last; all calls had permits.")
    @Outcome(id = "3, 30, 3[+]0", expect = ACCEPTABLE, desc = "The larger resize was last.")
    @Outcome(id = "2, 30, .*|3, 20, .*", expect = FORBIDDEN, desc = "A mixture of both.")
    @Outcome(id = "3, 30, 2[+]1", expect = FORBIDDEN, desc = "A call waits although a permit is free.")
    @State
    public static class TwoResizes {
        private final QueueingBulkhead bulkhead = full(1, 2);

        public TwoResizes() {
            bulkhead.enter(new Call());
            bulkhead.enter(new Call());
        }

        @Actor
        public void resize() {
            bulkhead.resize(2, 20);
        }

        @Actor
        public void resizeToo() {
            bulkhead.resize(3, 30);
        }

        @Arbiter
        public void afterwards(LLL_Result r) {
            r.r1 = bulkhead.maxConcurrentCalls();
            r.r2 = bulkhead.queueCapacity();
            r.r3 = figures(bulkhead);
        }
    }
}
