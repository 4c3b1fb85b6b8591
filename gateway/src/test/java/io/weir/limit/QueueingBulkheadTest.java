package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.weir.limit.QueueingBulkhead.Entry;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueueingBulkheadTest {

    private final List<String> granted = new ArrayList<>();

    @Test
    void grantsPermitsUpToTheLimit() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(2, 0);

        assertThat(bulkhead.tryAcquire()).isTrue();
        assertThat(bulkhead.enter(caller("a"))).isEqualTo(Entry.GRANTED);
        assertThat(bulkhead.tryAcquire()).isFalse();
        assertThat(bulkhead.enter(caller("b"))).isEqualTo(Entry.FULL);
        assertFigures(bulkhead, 2, 0);
    }

    @Test
    void grantsAReleasedPermitAgain() {
        QueueingBulkhead bulkhead = full(1, 0);

        bulkhead.release();

        assertThat(bulkhead.tryAcquire()).isTrue();
    }

    @Test
    void doesNotNotifyAWaiterThatWasGrantedOnEntry() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1);

        bulkhead.enter(caller("a"));

        assertThat(granted).isEmpty();
    }

    @Test
    void queuesWaitersUpToTheCapacity() {
        QueueingBulkhead bulkhead = full(1, 2);

        assertThat(bulkhead.enter(caller("a"))).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(caller("b"))).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(caller("c"))).isEqualTo(Entry.FULL);
        assertFigures(bulkhead, 1, 2);
    }

    @Test
    void grantsPermitsInOrderOfArrival() {
        QueueingBulkhead bulkhead = full(1, 3);
        enterAll(bulkhead, "a", "b", "c");

        bulkhead.release();
        assertThat(granted).containsExactly("a");
        bulkhead.release();
        bulkhead.release();

        assertThat(granted).containsExactly("a", "b", "c");
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void newCallsDoNotOvertakeTheQueue() {
        QueueingBulkhead bulkhead = full(1, 2);
        List<Boolean> overtook = new ArrayList<>();
        bulkhead.enter(whenGranted(() -> {
            overtook.add(bulkhead.tryAcquire());
            bulkhead.enter(caller("new"));
            bulkhead.release();
        }));
        enterAll(bulkhead, "first");

        bulkhead.release();

        assertThat(overtook).containsExactly(false);
        assertThat(granted).containsExactly("first");
    }

    @Test
    void neverGrantsAPermitToAWaiterThatHasLeft() {
        QueueingBulkhead bulkhead = full(1, 3);
        Waiter leaving = caller("leaving");
        enterAll(bulkhead, "a");
        bulkhead.enter(leaving);
        enterAll(bulkhead, "b");

        assertThat(leaving.leave()).isTrue();
        bulkhead.release();
        bulkhead.release();

        assertThat(granted).containsExactly("a", "b");
    }

    @Test
    void freesThePlaceOfAWaiterThatLeaves() {
        QueueingBulkhead bulkhead = full(1, 1);
        Waiter leaving = caller("leaving");
        bulkhead.enter(leaving);

        leaving.leave();

        assertFigures(bulkhead, 1, 0);
        assertThat(bulkhead.enter(caller("next"))).isEqualTo(Entry.QUEUED);
    }

    @Test
    void freesAReleasedPermitIfAllWaitersHaveLeft() {
        QueueingBulkhead bulkhead = full(1, 2);
        Waiter a = caller("a");
        Waiter b = caller("b");
        bulkhead.enter(a);
        bulkhead.enter(b);

        b.leave();
        a.leave();
        bulkhead.release();

        assertFigures(bulkhead, 0, 0);
    }

    @Test
    void leaveReturnsFalseAfterThePermitWasGranted() {
        QueueingBulkhead bulkhead = full(1, 1);
        Waiter waiter = caller("a");
        bulkhead.enter(waiter);
        bulkhead.release();

        assertThat(waiter.leave()).isFalse();
        assertThat(waiter.leave()).isFalse();
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void leaveReturnsFalseAfterAGrantOnEntry() {
        Waiter waiter = caller("a");
        new QueueingBulkhead(1, 1).enter(waiter);

        assertThat(waiter.leave()).isFalse();
    }

    @Test
    void leavingTwiceCountsOnce() {
        QueueingBulkhead bulkhead = full(1, 2);
        Waiter leaving = caller("leaving");
        bulkhead.enter(leaving);
        enterAll(bulkhead, "stays");

        assertThat(leaving.leave()).isTrue();
        assertThat(leaving.leave()).isTrue();

        assertFigures(bulkhead, 1, 1);
    }

    @Test
    void leaveReturnsTrueAfterARefusal() {
        QueueingBulkhead bulkhead = full(1, 0);
        Waiter refused = caller("refused");
        bulkhead.enter(refused);

        assertThat(refused.leave()).isTrue();
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void aWaiterThatLeftBeforeEnteringGetsNeitherPermitNorPlace() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1);
        Waiter early = caller("early");
        assertThat(early.leave()).isTrue();

        assertThat(bulkhead.enter(early)).isEqualTo(Entry.QUEUED);
        assertFigures(bulkhead, 0, 0);

        bulkhead.tryAcquire();
        Waiter secondEarly = caller("secondEarly");
        secondEarly.leave();
        assertThat(bulkhead.enter(secondEarly)).isEqualTo(Entry.QUEUED);
        assertFigures(bulkhead, 1, 0);
        bulkhead.release();
        assertThat(granted).isEmpty();
    }

    @Test
    void rejectsAWaiterThatEntersTwice() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(2, 1);
        Waiter waiter = caller("a");
        bulkhead.enter(waiter);

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(() -> bulkhead.enter(waiter))
                .withMessageContaining("enters once");
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void freesAPromisedPermitWhenItsWaiterLeaves() {
        QueueingBulkhead bulkhead = full(1, 2);
        Waiter second = caller("second");
        List<String> figures = new ArrayList<>();
        bulkhead.enter(whenGranted(() -> {
            bulkhead.release();
            figures.add(bulkhead.toString());
            figures.add("left: " + second.leave());
            figures.add(bulkhead.toString());
        }));
        bulkhead.enter(second);

        bulkhead.release();

        assertThat(figures)
                .containsExactly("1 of 1 in use, 0 of 2 queued", "left: true", "0 of 1 in use, 0 of 2 queued");
        assertThat(granted).isEmpty();
        assertFigures(bulkhead, 0, 0);
    }

    @Test
    void passesAPromisedPermitOnWhenItsWaiterLeaves() {
        QueueingBulkhead bulkhead = full(1, 4);
        Waiter second = caller("second");
        List<Boolean> overtook = new ArrayList<>();
        bulkhead.enter(whenGranted(() -> {
            bulkhead.release();
            second.leave();
            overtook.add(bulkhead.tryAcquire());
        }));
        bulkhead.enter(second);
        enterAll(bulkhead, "third", "fourth");

        bulkhead.release();

        assertThat(overtook).containsExactly(false);
        assertThat(granted).containsExactly("third");
        assertFigures(bulkhead, 1, 1);
    }

    @Test
    void keepsTheStackFlatIfWaitersReleaseInTheirCallback() {
        QueueingBulkhead bulkhead = full(1, 1000);
        QueueingBulkhead other = full(1, 1000);
        AtomicInteger depth = new AtomicInteger();
        AtomicInteger deepest = new AtomicInteger();
        for (int i = 0; i < 2000; i++) {
            QueueingBulkhead mine = i % 2 == 0 ? bulkhead : other;
            QueueingBulkhead next = i % 2 == 0 ? other : bulkhead;
            mine.enter(whenGranted(() -> {
                deepest.accumulateAndGet(depth.incrementAndGet(), Math::max);
                next.release();
                depth.decrementAndGet();
            }));
        }

        bulkhead.release();

        assertThat(bulkhead.queued() + other.queued()).isZero();
        // One level for each bulkhead, however many calls wait.
        assertThat(deepest).hasValueLessThanOrEqualTo(2);
    }

    @Test
    void runsTheNextCallbackAfterTheReleasingOneHasReturned() {
        QueueingBulkhead bulkhead = full(1, 2);
        bulkhead.enter(whenGranted(() -> {
            bulkhead.release();
            granted.add("first has returned");
        }));
        enterAll(bulkhead, "second");

        bulkhead.release();

        assertThat(granted).containsExactly("first has returned", "second");
    }

    @Test
    void isolatesReleaserAndNextWaiterFromACallbackThatThrows() {
        List<Throwable> reported = new ArrayList<>();
        QueueingBulkhead bulkhead = full(2, 2);
        bulkhead.enter(whenGranted(() -> {
            bulkhead.release();
            throw new AssertionError("defect");
        }));
        enterAll(bulkhead, "next");
        Thread.currentThread().setUncaughtExceptionHandler((thread, defect) -> reported.add(defect));
        try {
            bulkhead.release();
        } finally {
            Thread.currentThread().setUncaughtExceptionHandler(null);
        }

        assertThat(reported).singleElement().isInstanceOf(AssertionError.class);
        assertThat(granted).containsExactly("next");
        assertFigures(bulkhead, 2, 0);
    }

    @Test
    void admitsWaitersWhenTheLimitGrows() {
        QueueingBulkhead bulkhead = full(1, 5);
        enterAll(bulkhead, "a", "b", "c");

        bulkhead.resize(3, 5);

        assertThat(granted).containsExactly("a", "b");
        assertFigures(bulkhead, 3, 1);
        assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(3);
    }

    @Test
    void countsPermitsAcquiredBeyondTheLimit() {
        QueueingBulkhead bulkhead = full(2, 0);

        assertThat(bulkhead.acquireAnyway()).isTrue();
        assertThat(bulkhead.acquireAnyway()).isTrue();

        assertFigures(bulkhead, 4, 0);
        assertThat(bulkhead.tryAcquire()).isFalse();
        bulkhead.release();
        bulkhead.release();
        assertThat(bulkhead.tryAcquire()).isFalse();
        bulkhead.release();
        assertThat(bulkhead.tryAcquire()).isTrue();
        assertFigures(bulkhead, 2, 0);
    }

    @Test
    void admitsAWaiterAfterPermitsBeyondTheLimitAreReleased() {
        QueueingBulkhead bulkhead = full(1, 1);
        bulkhead.enter(caller("a"));
        bulkhead.acquireAnyway();

        bulkhead.release();
        assertThat(granted).isEmpty();
        assertFigures(bulkhead, 1, 1);

        bulkhead.release();
        assertThat(granted).containsExactly("a");
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void refusesMorePermitsBeyondTheLimitThanItCanCount() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(QueueingBulkhead.LARGEST, 0);
        for (int i = 0; i < QueueingBulkhead.LARGEST; i++) {
            bulkhead.tryAcquire();
        }

        assertThat(bulkhead.acquireAnyway()).isFalse();
        assertFigures(bulkhead, QueueingBulkhead.LARGEST, 0);
    }

    @Test
    void isNeverFullWhileADryRunCountsInItsPlace() {
        QueueingBulkhead bulkhead = full(2, 3);
        assertThat(bulkhead.isFull()).isTrue();
        assertThat(bulkhead.dryRun()).isNull();

        bulkhead.enforce(false);

        assertThat(bulkhead.isFull()).isFalse();
        assertThat(bulkhead.dryRun()).hasToString("0 of 2 in use, 0 of 3 queued");
        bulkhead.enforce(true);
        assertThat(bulkhead.isFull()).isTrue();
        assertThat(bulkhead.dryRun()).isNull();
    }

    /** As a reload does that changes other properties. */
    @Test
    void keepsItsDryRunWithTheSameLimits() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(2, 3);
        bulkhead.enforce(false);
        QueueingBulkhead dryRun = Objects.requireNonNull(bulkhead.dryRun());
        dryRun.tryAcquire();

        bulkhead.resize(5, 7);
        bulkhead.enforce(false);

        assertThat(bulkhead.dryRun()).isSameAs(dryRun).hasToString("1 of 5 in use, 0 of 7 queued");
        assertFigures(bulkhead, 0, 0);
    }

    @Test
    void keepsPermitsFreeWhenTheLimitGrowsBeyondTheQueue() {
        QueueingBulkhead bulkhead = full(1, 5);
        enterAll(bulkhead, "a");

        bulkhead.resize(3, 5);

        assertFigures(bulkhead, 2, 0);
        assertThat(bulkhead.tryAcquire()).isTrue();
        assertThat(bulkhead.tryAcquire()).isFalse();
    }

    @Test
    void revokesNoPermitWhenTheLimitShrinks() {
        QueueingBulkhead bulkhead = full(3, 1);
        enterAll(bulkhead, "a");

        bulkhead.resize(1, 1);
        assertFigures(bulkhead, 3, 1);
        bulkhead.release();
        bulkhead.release();
        assertThat(granted).isEmpty();
        assertFigures(bulkhead, 1, 1);

        bulkhead.release();
        assertThat(granted).containsExactly("a");
        assertFigures(bulkhead, 1, 0);
    }

    @Test
    void evictsNoWaiterWhenTheQueueShrinks() {
        QueueingBulkhead bulkhead = full(1, 2);
        enterAll(bulkhead, "a", "b");

        bulkhead.resize(1, 0);

        assertFigures(bulkhead, 1, 2);
        assertThat(bulkhead.queueCapacity()).isZero();
        assertThat(bulkhead.enter(caller("c"))).isEqualTo(Entry.FULL);
        bulkhead.release();
        bulkhead.release();
        assertThat(granted).containsExactly("a", "b");
    }

    @Test
    void queuesMoreWaitersWhenTheQueueGrows() {
        QueueingBulkhead bulkhead = full(1, 0);

        bulkhead.resize(1, 1);

        assertThat(bulkhead.enter(caller("a"))).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(caller("b"))).isEqualTo(Entry.FULL);
    }

    @Test
    void rejectsAReleaseWithoutAPermitInUse() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(3, 2);

        assertThatExceptionOfType(IllegalStateException.class)
                .isThrownBy(bulkhead::release)
                .withMessage("release without a permit in use: 0 of 3 in use, 0 of 2 queued");
        assertFigures(bulkhead, 0, 0);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0, max-concurrent-calls: 0 (expected: 1 to 1000000)",
        "1000001, 0, max-concurrent-calls: 1000001 (expected: 1 to 1000000)",
        "1, -1, queue-capacity: -1 (expected: 0 to 1000000)",
        "1, 1000001, queue-capacity: 1000001 (expected: 0 to 1000000)",
    })
    void rejectsLimitsOutOfRange(int maxConcurrentCalls, int queueCapacity, String message) {
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> new QueueingBulkhead(maxConcurrentCalls, queueCapacity))
                .withMessage(message);

        QueueingBulkhead bulkhead = full(2, 1);
        assertThatExceptionOfType(IllegalArgumentException.class)
                .isThrownBy(() -> bulkhead.resize(maxConcurrentCalls, queueCapacity))
                .withMessage(message);
        assertThat(bulkhead).hasToString("2 of 2 in use, 0 of 1 queued");
    }

    @Test
    void countsCorrectlyAtTheMaximumOfBothLimits() {
        QueueingBulkhead bulkhead = full(QueueingBulkhead.LARGEST, QueueingBulkhead.LARGEST);
        List<Waiter> waiters = new ArrayList<>();
        for (int i = 0; i < QueueingBulkhead.LARGEST; i++) {
            Waiter waiter = caller("");
            waiters.add(waiter);
            bulkhead.enter(waiter);
        }

        assertFigures(bulkhead, QueueingBulkhead.LARGEST, QueueingBulkhead.LARGEST);
        assertThat(bulkhead.tryAcquire()).isFalse();
        assertThat(bulkhead.enter(caller("one too many"))).isEqualTo(Entry.FULL);

        bulkhead.resize(1, 0);
        waiters.forEach(Waiter::leave);
        for (int i = 0; i < QueueingBulkhead.LARGEST; i++) {
            bulkhead.release();
        }
        assertThat(bulkhead).hasToString("0 of 1 in use, 0 of 0 queued");
    }

    private QueueingBulkhead full(int maxConcurrentCalls, int queueCapacity) {
        QueueingBulkhead bulkhead = new QueueingBulkhead(maxConcurrentCalls, queueCapacity);
        for (int i = 0; i < maxConcurrentCalls; i++) {
            bulkhead.tryAcquire();
        }
        return bulkhead;
    }

    private void enterAll(QueueingBulkhead bulkhead, String... names) {
        for (String name : names) {
            bulkhead.enter(caller(name));
        }
    }

    private static Waiter whenGranted(Runnable action) {
        return new Waiter() {
            @Override
            protected void granted() {
                action.run();
            }
        };
    }

    private Waiter caller(String name) {
        return whenGranted(() -> granted.add(name));
    }

    private static void assertFigures(QueueingBulkhead bulkhead, int inUse, int queued) {
        assertThat(bulkhead.inUse()).as("in use of %s", bulkhead).isEqualTo(inUse);
        assertThat(bulkhead.queued()).as("queued of %s", bulkhead).isEqualTo(queued);
    }
}
