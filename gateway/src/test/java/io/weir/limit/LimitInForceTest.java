package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LimitInForceTest {

    private static final long MILLI = 1_000_000;
    private static final long DEADLINE = 800 * MILLI;
    private static final LimitSettings ADAPTIVE =
            LimitSettings.adaptive(LimitBounds.DEFAULT, LimitSettings.AUTO, DEADLINE);

    private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 0);
    private final AtomicInteger ceiling = new AtomicInteger(LimitInForce.NONE);
    private long now = MILLI;

    private LimitInForce limit(LimitSettings settings) {
        LimitInForce limit = new LimitInForce(bulkhead, settings, () -> now, () -> now);
        limit.limitBy(ceiling::get);
        return limit;
    }

    @Test
    void aNumberIsInForceAsItIs() {
        LimitInForce limit = limit(LimitSettings.fixed(64, 32));

        assertThat(bulkhead).hasToString("0 of 64 in use, 0 of 32 queued");
        assertThat(limit.beliefs().lastChange()).isEqualTo(Change.FIXED);
        assertThat(limit.min()).isEqualTo(64);
        assertThat(limit.max()).isEqualTo(64);
        assertThat(limit.isAdaptive()).isFalse();
    }

    @Test
    void anAdaptiveLimitSetsPermitsAndQueue() {
        LimitInForce limit = limit(ADAPTIVE);
        assertThat(bulkhead).hasToString("0 of 8 in use, 0 of 32 queued");

        overload(limit, 1_000);

        assertThat(bulkhead.maxConcurrentCalls())
                .isEqualTo(limit.beliefs().limit())
                .isGreaterThan(30);
        assertThat(bulkhead.queueCapacity()).isGreaterThan(60);
        assertThat(limit.changes(Change.GROWTH)).isPositive();
        assertThat(limit.permits()).isEqualTo(limit.limit().value());
    }

    @Test
    void permitsThatCallsLeftBehindHoldAreAddedToAnAdaptiveLimit() {
        LimitInForce limit = limit(ADAPTIVE);
        leaveBehind(limit);
        assertThat(limit.permits()).as("apart from the lost permits").isEqualTo(8);
        assertThat(bulkhead.maxConcurrentCalls()).isBetween(12, 20);

        int more = bulkhead.maxConcurrentCalls() - 8;
        for (int i = 0; i < 8 + more; i++) {
            assertThat(bulkhead.tryAcquire()).isTrue();
        }
        assertThat(limit.started(now)).as("calls in flight for the limit").isEqualTo(8);

        now += 60_000 * MILLI;
        limit.ended(now, 8, 10 * MILLI, Evidence.NONE);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(8);
    }

    /** A fixed limit and a ceiling are exact, and so is the upper bound. */
    @Test
    void noPermitIsAddedToAnExactLimit() {
        LimitInForce limit = limit(LimitSettings.fixed(8, 10));
        leaveBehind(limit);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(8);

        limit.configure(LimitSettings.adaptive(new LimitBounds(2, 9, 8), LimitSettings.AUTO, DEADLINE));
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(9);
        ceiling.set(5);
        limit.update();
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(5);
        ceiling.set(LimitInForce.NONE);
        limit.limitByOperator(7);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(7);
    }

    /** Forty calls a second, each after 100 ms. */
    private void leaveBehind(LimitInForce limit) {
        for (int i = 0; i < 200; i++) {
            now += 25 * MILLI;
            limit.leftBehind(100 * MILLI, now);
        }
    }

    @Test
    void aConfiguredQueueKeepsItsCapacityBesideAnAdaptiveLimit() {
        LimitInForce limit = limit(LimitSettings.adaptive(LimitBounds.DEFAULT, 5, DEADLINE));
        overload(limit, 1_000);
        assertThat(bulkhead.queueCapacity()).isEqualTo(5);
    }

    @Test
    void theLowestOfLimitOperatorAndCeilingIsInForce() {
        LimitInForce limit = limit(LimitSettings.fixed(64, 32));

        limit.limitByOperator(20);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(20);
        ceiling.set(5);
        limit.update();
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(5);
        assertThat(limit.permits()).as("apart from the ceiling").isEqualTo(20);
        ceiling.set(LimitInForce.NONE);
        limit.update();
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(20);
        limit.configure(LimitSettings.fixed(10, 32));
        assertThat(bulkhead.maxConcurrentCalls())
                .as("an operator may raise a number")
                .isEqualTo(20);
        limit.configure(LimitSettings.fixed(100, 32));
        assertThat(bulkhead.maxConcurrentCalls())
                .as("holds until it is released")
                .isEqualTo(20);
        limit.limitByOperator(LimitInForce.NONE);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(100);
    }

    @Test
    void refusesAnOperatorsLimitOutOfRange() {
        LimitInForce limit = limit(LimitSettings.fixed(64, 32));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> limit.limitByOperator(0))
                .withMessage("max-concurrent-calls: 0 (expected: 1 to 1000000)");
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(64);
    }

    @Test
    void learnsNothingWhileAnOperatorsLimitIsLower() {
        LimitInForce limit = limit(ADAPTIVE);
        limit.limitByOperator(4);

        overload(limit, 1_000);

        assertThat(limit.beliefs().limit()).isEqualTo(8);
        assertThat(limit.beliefs().baseLatencyNanos()).isZero();
        limit.limitByOperator(LimitInForce.NONE);
        overload(limit, 1_000);
        assertThat(limit.beliefs().limit()).isGreaterThan(30);
    }

    @Test
    void scalesWhatItHasLearntToTheInstancesThatAreIn() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 1_000);
        int whole = limit.permits();
        double rate = limit.beliefs().answersPerSecond();
        double[] share = {2 / 3.};
        limit.limitBy(
                () -> share[0] == 1 ? LimitInForce.NONE : (int) Math.ceil(limit.permits() * 2 / 3.), () -> share[0]);

        int part = (int) Math.ceil(whole * 2 / 3.);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(part);
        assertThat(limit.permits()).as("of all instances").isEqualTo(whole);
        assertThat(limit.binding()).isEqualTo(LimitInForce.Binding.AUTO);
        timeOut(limit, 1_000);
        assertThat(limit.changes(Change.TIMEOUTS)).as("learns").isPositive();
        assertThat(bulkhead.maxConcurrentCalls()).isLessThan(part);

        int before = bulkhead.maxConcurrentCalls();
        share[0] = 1;
        limit.update();
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(limit.permits()).isBetween(before, 2 * before);
        assertThat(rate).isPositive();
    }

    @Test
    void learnsNothingWhileAnInstanceRampsUp() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 1_000);
        int whole = limit.permits();
        limit.limitBy(() -> whole / 2, () -> 0);

        timeOut(limit, 1_000);

        assertThat(limit.permits()).isEqualTo(whole);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(whole / 2);
        assertThat(limit.binding()).isEqualTo(LimitInForce.Binding.RAMP);
    }

    @Test
    void learnsNothingWhileTheBackendRecovers() {
        LimitInForce limit = limit(ADAPTIVE);
        ceiling.set(5);
        limit.update();

        timeOut(limit, 100);

        assertThat(limit.beliefs().limit()).isEqualTo(8);
        assertThat(limit.absorbs(Evidence.TIMED_OUT, DEADLINE))
                .as("nobody but the breaker judges")
                .isFalse();
    }

    @Test
    void callsThatStartedBeforeAnOperatorsLimitSayNothing() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 1_000);
        int learnt = limit.beliefs().limit();
        int[] marks = new int[learnt];
        for (int i = 0; i < learnt; i++) {
            assertThat(bulkhead.tryAcquire()).isTrue();
            marks[i] = limit.started(now);
        }
        limit.limitByOperator(1);
        now += DEADLINE;
        for (int mark : marks) {
            limit.ended(now, mark, DEADLINE, Evidence.TIMED_OUT);
            bulkhead.release();
        }
        assertThat(limit.beliefs().limit()).isEqualTo(learnt);
    }

    @Test
    void keepsWhatWasLearntWhileItIsFixed() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 1_000);
        int learnt = limit.beliefs().limit();

        limit.configure(LimitSettings.fixed(3, 7));
        assertThat(bulkhead).hasToString("0 of 3 in use, 0 of 7 queued");
        overload(limit, 1_000);
        limit.configure(ADAPTIVE);

        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(learnt);
        assertThat(limit.changes(Change.GROWTH)).isPositive();
    }

    @Test
    void keepsWhatWasLearntWithinOtherBounds() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 200);
        int learnt = limit.beliefs().limit();

        limit.configure(LimitSettings.adaptive(new LimitBounds(2, 600, 20), LimitSettings.AUTO, DEADLINE / 2));
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(learnt);
        limit.configure(LimitSettings.adaptive(new LimitBounds(2, 10, 5), LimitSettings.AUTO, DEADLINE));
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(10);
        limit.configure(LimitSettings.adaptive(new LimitBounds(50, 500, 60), LimitSettings.AUTO, DEADLINE));
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(50);
    }

    @Test
    void anotherInitialLimitCountsUntilSomethingIsLearnt() {
        LimitInForce limit = limit(ADAPTIVE);
        limit.configure(LimitSettings.adaptive(new LimitBounds(2, 500, 20), LimitSettings.AUTO, DEADLINE));
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(20);
        assertThat(limit.max()).isEqualTo(500);
    }

    @Test
    void callsThatStartedBesideANumberAreNoSamplesOfTheLimitThatReplacesIt() {
        LimitInForce limit = limit(LimitSettings.fixed(64, 0));
        int[] marks = new int[64];
        for (int i = 0; i < marks.length; i++) {
            bulkhead.tryAcquire();
            marks[i] = limit.started(now);
        }
        limit.configure(ADAPTIVE);
        now += DEADLINE;
        for (int mark : marks) {
            limit.ended(now, mark, DEADLINE, Evidence.TIMED_OUT);
            bulkhead.release();
        }
        assertThat(limit.beliefs().limit()).isEqualTo(8);
        assertThat(bulkhead).hasToString("0 of 8 in use, 0 of 32 queued");
    }

    @Test
    void evictsOnlyWithAnAdaptiveLimit() {
        LimitInForce limit = limit(LimitSettings.adaptive(new LimitBounds(1, 1, 1), 1, DEADLINE));
        bulkhead.tryAcquire();
        TestWaiter first = new TestWaiter();
        TestWaiter second = new TestWaiter();
        bulkhead.enter(first);
        bulkhead.enter(second);
        assertThat(first.wasEvicted).isTrue();

        limit.configure(LimitSettings.fixed(1, 1));
        TestWaiter third = new TestWaiter();
        assertThat(bulkhead.enter(third)).isEqualTo(QueueingBulkhead.Entry.FULL);
        bulkhead.release();

        assertThat(second.wasGranted).isTrue();
        assertThat(second.wasEvicted).isFalse();
    }

    @Test
    void absorbsSignsOfLoadUntilTheLimitIsAtItsFloor() {
        LimitInForce limit = limit(ADAPTIVE);
        overload(limit, 1_000);
        long base = limit.beliefs().baseLatencyNanos();

        assertThat(limit.absorbs(Evidence.TIMED_OUT, DEADLINE)).isTrue();
        assertThat(limit.absorbs(Evidence.SHED, base)).isTrue();
        assertThat(limit.absorbs(Evidence.UNAVAILABLE, base / 10)).isTrue();
        assertThat(limit.absorbs(Evidence.UNAVAILABLE, base))
                .as("as slow as an answer")
                .isFalse();
        assertThat(limit.absorbs(Evidence.ANSWERED, base)).isFalse();

        timeOut(limit, 100);
        assertThat(limit.beliefs().limit()).isEqualTo(2);
        assertThat(limit.absorbs(Evidence.TIMED_OUT, DEADLINE)).isFalse();
    }

    @Test
    void absorbsNothingOfABackendThatHardlyAnswers() {
        LimitInForce limit = limit(LimitSettings.adaptive(new LimitBounds(2, 1000, 100), LimitSettings.AUTO, DEADLINE));
        overload(limit, 500);
        int calls = 0;
        while (limit.absorbs(Evidence.SHED, MILLI)) {
            end(limit, 1, MILLI, Evidence.SHED);
            calls++;
        }
        assertThat(calls).isBetween(20, 120);
        assertThat(limit.limit().value()).isGreaterThan(2);
    }

    @Test
    void absorbsNothingBesideANumber() {
        assertThat(limit(LimitSettings.fixed(64, 32)).absorbs(Evidence.TIMED_OUT, DEADLINE))
                .isFalse();
    }

    @Test
    void countsInADryRunWithTheSameNumbersAndWithoutItsProbes() {
        LimitInForce limit = limit(ADAPTIVE);
        bulkhead.enforce(false);
        QueueingBulkhead counting = Objects.requireNonNull(bulkhead.dryRun());
        assertThat(counting).hasToString("0 of 8 in use, 0 of 32 queued");

        // The backend is never congested, however many calls are in it.
        for (int i = 0; i < 40; i++) {
            end(limit, 500, 50 * MILLI, Evidence.ANSWERED);
            assertThat(counting.maxConcurrentCalls()).isEqualTo(bulkhead.maxConcurrentCalls());
        }
        assertThat(counting.maxConcurrentCalls()).isGreaterThan(30);
        long base = limit.beliefs().baseLatencyNanos();
        assertThat(base).isBetween(45 * MILLI, 55 * MILLI);
    }

    /** All permits are in use, always, and the backend answers each call after 50 ms. */
    private void overload(LimitInForce limit, int calls) {
        Queue<Integer> inBackend = new ArrayDeque<>();
        Queue<Long> startedAt = new ArrayDeque<>();
        for (int ended = 0; ended < calls; ) {
            while (bulkhead.tryAcquire()) {
                inBackend.add(limit.started(now));
                startedAt.add(now);
            }
            now = Math.max(now + MILLI / 20, startedAt.element() + 50 * MILLI);
            limit.ended(now, inBackend.remove(), now - startedAt.remove(), Evidence.ANSWERED);
            bulkhead.release();
            ended++;
        }
        while (!inBackend.isEmpty()) {
            now = Math.max(now, startedAt.element() + 50 * MILLI);
            limit.ended(now, inBackend.remove(), now - startedAt.remove(), Evidence.ANSWERED);
            bulkhead.release();
        }
    }

    private void timeOut(LimitInForce limit, int calls) {
        for (int i = 0; i < calls; i++) {
            end(limit, 1, DEADLINE, Evidence.TIMED_OUT);
        }
    }

    /** So many calls at the same time, one batch after the other. */
    private void end(LimitInForce limit, int calls, long latency, Evidence evidence) {
        int[] marks = new int[calls];
        for (int i = 0; i < calls; i++) {
            assertThat(bulkhead.acquireAnyway()).isTrue();
            marks[i] = limit.started(now);
        }
        now += latency;
        for (int mark : marks) {
            limit.ended(now, mark, latency, evidence);
            bulkhead.release();
        }
    }

    private static final class TestWaiter extends Waiter {

        private boolean wasGranted;
        private boolean wasEvicted;

        @Override
        protected void granted() {
            wasGranted = true;
        }

        @Override
        protected void evicted() {
            wasEvicted = true;
        }
    }
}
