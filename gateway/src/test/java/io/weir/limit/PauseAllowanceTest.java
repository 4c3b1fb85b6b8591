package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead.Entry;
import io.weir.limit.QueueingBulkhead.Overflow;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PauseAllowanceTest {

    @ParameterizedTest
    @CsvSource({
        // The pause in ms, the permits, the usual time in ms, the places
        "100, 10, 20, 50",
        "100, 1, 20, 5",
        "10, 1, 20, 0",
        "0, 10, 20, 0",
        "-5, 10, 20, 0",
        "100, 10, 0, 0",
        "3600000, 1000000, 1, 1000000"
    })
    void allowsAsManyCallsAsFitIntoThePause(long pausedMillis, int permits, long usualMillis, int places) {
        long paused = TimeUnit.MILLISECONDS.toNanos(pausedMillis);
        long usual = TimeUnit.MILLISECONDS.toNanos(usualMillis);

        assertThat(PauseAllowance.places(paused, permits, usual)).isEqualTo(places);
    }

    @Test
    void lengthensTheQueueOfABulkheadThatRefusesNewcomers() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1);
        assertThat(bulkhead.tryAcquire()).isTrue();

        assertThat(bulkhead.enter(new NoWaiter(), 2)).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(new NoWaiter(), 2)).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(new NoWaiter(), 2)).isEqualTo(Entry.QUEUED);
        assertThat(bulkhead.enter(new NoWaiter(), 2)).isEqualTo(Entry.FULL);
        assertThat(bulkhead.enter(new NoWaiter())).isEqualTo(Entry.FULL);
        assertThat(bulkhead.queued()).isEqualTo(3);
    }

    @Test
    void leavesTheQueueOfABulkheadThatEvictsAsItIs() {
        QueueingBulkhead bulkhead = new QueueingBulkhead(1, 1, Overflow.EVICT_OLDEST);
        assertThat(bulkhead.tryAcquire()).isTrue();

        for (int i = 0; i < 3; i++) {
            assertThat(bulkhead.enter(new NoWaiter(), 2)).isEqualTo(Entry.QUEUED);
        }

        assertThat(bulkhead.queued()).isEqualTo(1);
    }

    private static final class NoWaiter extends Waiter {

        @Override
        protected void granted() {
            throw new AssertionError("no permit is released");
        }
    }
}
