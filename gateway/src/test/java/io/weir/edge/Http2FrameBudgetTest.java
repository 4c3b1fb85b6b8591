package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class Http2FrameBudgetTest {

    private static final int MAX_STREAMS = 100;

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
    private final Http2FrameBudget budget = new Http2FrameBudget(MAX_STREAMS, nanos::get);

    /** Uses frames one by one until there are none, or far too many; returns their number. */
    private int spendAll() {
        int spent = 0;
        while (spent < 2 * Http2FrameBudget.MAX && budget.spend()) {
            spent++;
        }
        return spent;
    }

    @Test
    void endsAfterItsInitialFrames() {
        assertThat(spendAll()).isEqualTo(Http2FrameBudget.INITIAL);
        assertThat(budget.spend()).isFalse();
    }

    @Test
    void growsWithTimeUpToItsLimit() {
        for (int i = 0; i < Http2FrameBudget.INITIAL; i++) {
            assertThat(budget.spend()).isTrue();
        }
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(3));
        assertThat(spendAll()).isEqualTo(3 * MAX_STREAMS);
        nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
        budget.earn(0);
        assertThat(spendAll()).isBetween(Http2FrameBudget.MAX - 1, Http2FrameBudget.MAX + Http2FrameBudget.PER_FRAME);
    }

    /** Calls that last a second and are then reset: as many per second as the connection may have streams. */
    @Test
    void lastsForACallerThatResetsAllItsStreamsEachSecond() {
        for (int second = 0; second < 1000; second++) {
            for (int stream = 0; stream < MAX_STREAMS; stream++) {
                assertThat(budget.spend()).isTrue();
            }
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        }
    }

    /** gRPC's libraries ping per round trip of a transfer, and update two windows per few KiB. */
    @Test
    void lastsForACallerThatPingsAndUpdatesItsWindowsDuringATransfer() {
        for (int i = 0; i < 100_000; i++) {
            budget.earn(4096);
            for (int frame = 0; frame < 4; frame++) {
                assertThat(budget.spend()).isTrue();
            }
        }
    }

    @Test
    void countsTheBytesOfRequestsOnlyOnceTheyAreTaken() {
        spendAll();
        for (int i = 0; i < 1023; i++) {
            budget.taken(1);
        }
        assertThat(budget.spend()).isFalse();
        budget.taken(3 * 1024 + 1);
        assertThat(spendAll()).isEqualTo(4 - 2);
    }

    // ---------------------------------------------------------------- resets

    private int resetAll() {
        int resets = 0;
        while (resets < 2 * Http2FrameBudget.MAX && budget.spendResets(1)) {
            resets++;
        }
        return resets;
    }

    @Test
    void transferredBytesPayForNoResets() {
        for (int i = 0; i < 1000; i++) {
            budget.earn(16_384);
            budget.taken(16_384);
        }
        assertThat(resetAll()).isEqualTo(Http2FrameBudget.INITIAL);
    }

    @Test
    void lastsForACallerThatCancelsHalfOfItsCalls() {
        for (int i = 0; i < 100_000; i++) {
            budget.answered();
            assertThat(budget.spendResets(1)).isTrue();
        }
    }

    @Test
    void endsForACallerThatCancelsMoreThanHalfOfItsCalls() {
        for (int i = 0; i < Http2FrameBudget.INITIAL - 1; i++) {
            assertThat(budget.spendResets(2)).isTrue();
            budget.answered();
        }
        assertThat(budget.spendResets(2)).isFalse();
    }

    /** Each caller can reset all of its streams twice at any time. */
    @Test
    void resetsGrowWithTheLimitOfStreamsAndWithTime() {
        Http2FrameBudget large = new Http2FrameBudget(1000, nanos::get);
        assertThat(large.spendResets(2000)).isTrue();
        assertThat(large.spendResets(1)).isFalse();
        nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
        assertThat(large.spendResets(999)).isTrue();
        nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
        assertThat(large.spendResets(2001)).isFalse();
    }

    @Test
    void doesNotSaveWithoutALimit() {
        for (int i = 0; i < 100_000; i++) {
            budget.earn(16_384);
        }
        assertThat(spendAll()).isEqualTo(Http2FrameBudget.MAX);
    }
}
