package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Limit.Evidence;
import io.weir.limit.LimitInForce.Binding;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The capacity that a backend states, in place of an adaptive limit, with the bulkhead. */
class StatedLimitTest {

    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long DEADLINE = 800 * MILLI;
    private static final LimitSettings SETTINGS =
            LimitSettings.adaptive(LimitBounds.DEFAULT, LimitSettings.AUTO, DEADLINE);

    private final AtomicLong now = new AtomicLong(7 * SECOND);
    private final QueueingBulkhead bulkhead = new QueueingBulkhead(1, 0);
    private final LimitInForce limit = new LimitInForce(bulkhead, SETTINGS.withSignal(true), now::get, () -> 0);
    private int says = CapacitySource.NONE;

    StatedLimitTest() {
        limit.stateBy((learnt, at) -> says);
    }

    private void says(int calls) {
        says = calls;
        limit.update();
    }

    /** A call of its own, with this end. */
    private void call(Evidence end, long latencyNanos) {
        assertThat(bulkhead.tryAcquire()).isTrue();
        int mark = limit.started(now.get());
        now.addAndGet(latencyNanos);
        limit.ended(now.get(), mark, latencyNanos, end);
        bulkhead.release();
    }

    private void calls(int number, Evidence end, long latencyNanos) {
        for (int i = 0; i < number; i++) {
            call(end, latencyNanos);
        }
    }

    private void assertInForce(int calls, Binding binding) {
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(calls);
        assertThat(limit.binding()).isEqualTo(binding);
    }

    @Test
    void takesThePlaceOfTheLearntLimitWithinTheBounds() {
        assertInForce(8, Binding.AUTO);
        says(40);
        assertInForce(40, Binding.SIGNAL);
        assertThat(limit.beliefs().limit()).isEqualTo(8);
        says(1);
        assertInForce(2, Binding.SIGNAL);
        says(0);
        assertInForce(2, Binding.SIGNAL);
        says(1_000_000);
        assertInForce(1_000, Binding.SIGNAL);
    }

    @Test
    void leavesTheLearntLimitAtTheLastNumberAsFarAsItWasInUse() {
        says(4);
        call(Evidence.ANSWERED, 20 * MILLI);
        says(CapacitySource.NONE);
        assertInForce(4, Binding.AUTO);

        says(40);
        for (int i = 0; i < 29; i++) {
            assertThat(bulkhead.tryAcquire()).isTrue();
        }
        call(Evidence.ANSWERED, 20 * MILLI);
        says(CapacitySource.NONE);
        assertInForce(30, Binding.AUTO);
        assertThat(limit.changes(Limit.Change.GROWTH)).isZero();
    }

    @Test
    void endsWithTheFirstCallAfterTheLastStatementHasExpired() {
        says(40);
        says = CapacitySource.NONE;
        call(Evidence.ANSWERED, 20 * MILLI);
        assertInForce(40, Binding.SIGNAL);
        now.addAndGet(100 * MILLI);
        call(Evidence.ANSWERED, 20 * MILLI);
        assertInForce(8, Binding.AUTO);
        assertThat(limit.stated()).isZero();
    }

    @Test
    void learnsNothingMeanwhileAndGoesOnFromThere() {
        calls(200, Evidence.ANSWERED, 20 * MILLI);
        long learnt = limit.beliefs().baseLatencyNanos();
        assertThat(learnt).isPositive();
        says(4);
        calls(1_000, Evidence.ANSWERED, 200 * MILLI);
        assertThat(limit.beliefs().baseLatencyNanos()).isEqualTo(learnt);
        says(CapacitySource.NONE);
        calls(1_000, Evidence.ANSWERED, 200 * MILLI);
        assertThat(limit.beliefs().baseLatencyNanos()).isGreaterThan(learnt);
    }

    @Test
    void isBoundedByAnOperatorAndByARamp() {
        says(40);
        limit.limitByOperator(10);
        assertInForce(10, Binding.OPERATOR);
        limit.limitByOperator(LimitInForce.NONE);
        limit.limitBy(() -> 5, () -> 0);
        assertInForce(5, Binding.RAMP);
        limit.limitBy(() -> 20, () -> .5);
        assertInForce(20, Binding.SIGNAL);
    }

    @Test
    void hasAQueueForTheCallsThatAreAnsweredInTime() {
        assertThat(bulkhead.queueCapacity()).isEqualTo(32);
        says(100);
        assertThat(bulkhead.queueCapacity()).isEqualTo(200);
        calls(100, Evidence.ANSWERED, 20 * MILLI);
        assertThat(bulkhead.queueCapacity()).isBetween(1_900, 2_100);
    }

    @Test
    void isDisprovedByTimeOutsFromThatNumberOnForFiveMinutes() {
        says(1_000);
        calls(20, Evidence.ANSWERED, 20 * MILLI);
        calls(40, Evidence.TIMED_OUT, DEADLINE);
        assertThat(limit.disproofs()).isOne();
        assertThat(limit.binding()).isEqualTo(Binding.AUTO);
        assertThat(limit.stated()).isEqualTo(1_000);
        says(999);
        assertInForce(999, Binding.SIGNAL);
        says(1_000);
        assertThat(limit.binding()).isEqualTo(Binding.AUTO);
        says(3);
        assertInForce(3, Binding.SIGNAL);

        now.addAndGet(300 * SECOND);
        says(1_000);
        assertInForce(1_000, Binding.SIGNAL);
    }

    @Test
    void isDisprovedByShedsButNotByRefusedConnectionsNorByFewTimeOuts() {
        says(100);
        calls(200, Evidence.UNAVAILABLE, MILLI);
        for (int i = 0; i < 100; i++) {
            call(Evidence.ANSWERED, 20 * MILLI);
            call(Evidence.ANSWERED, 20 * MILLI);
            call(Evidence.TIMED_OUT, DEADLINE);
            call(Evidence.NONE, DEADLINE);
        }
        assertInForce(100, Binding.SIGNAL);
        calls(40, Evidence.SHED, MILLI);
        assertThat(limit.disproofs()).isOne();
        assertThat(limit.binding()).isEqualTo(Binding.AUTO);
    }

    @Test
    void takesTimeOutsForOverloadOnlyWhereTheLearntLimitIsLower() {
        says(100);
        assertThat(limit.absorbs(Evidence.TIMED_OUT, DEADLINE)).isTrue();
        assertThat(limit.absorbs(Evidence.ANSWERED, DEADLINE)).isFalse();
        says(4);
        assertThat(limit.absorbs(Evidence.TIMED_OUT, DEADLINE)).isFalse();
    }

    @Test
    void comesAndGoesWithTheSettings() {
        says(40);
        limit.configure(SETTINGS);
        assertInForce(8, Binding.AUTO);
        assertThat(limit.stated()).isZero();
        limit.configure(SETTINGS.withSignal(true));
        assertInForce(40, Binding.SIGNAL);
        limit.configure(LimitSettings.fixed(5, 0));
        assertInForce(5, Binding.FIXED);
        limit.configure(LimitSettings.adaptive(new LimitBounds(2, 30, 8), LimitSettings.AUTO, DEADLINE)
                .withSignal(true));
        assertInForce(30, Binding.SIGNAL);
    }

    @Test
    void addsNoLostPermits() {
        says(10);
        for (int i = 0; i < 5; i++) {
            limit.leftBehind(2 * SECOND, now.addAndGet(SECOND));
        }
        limit.update();
        assertInForce(10, Binding.SIGNAL);
    }
}
