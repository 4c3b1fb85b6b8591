package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SlowCallersTest {

    private static final long LIMIT = 1600;
    private static final long MIN_RATE = 10;
    private static final long CRAWLING_RATE = SlowCallers.CRAWLING * MIN_RATE;

    private final SlowCallers callers = new SlowCallers(LIMIT, MIN_RATE);
    private final QueueingBulkhead streams = new QueueingBulkhead(1, 0);
    private final ExchangeFixture fixture = new ExchangeFixture().create();

    /** A caller whose rate is known. */
    private SlowCaller caller(long bytesPerSecond) {
        SlowCaller caller = new SlowCaller(fixture.exchange(), callers);
        Duration time = Duration.ofSeconds(1);
        caller.look(true, 0, 5_000, fixture.now());
        caller.look(true, 0, 5_000 + bytesPerSecond, fixture.now() + time.toNanos());
        assertThat(caller.bytesPerSecond()).isEqualTo((double) bytesPerSecond);
        return caller;
    }

    private void waits(SlowCaller caller, long unreadBytes) {
        caller.look(true, unreadBytes, 0, fixture.now());
    }

    @Test
    void endsTheSlowestReadersOnceUnreadAnswersExceedTheLimit() {
        SlowCaller fast = caller(300);
        SlowCaller slow = caller(100);
        SlowCaller slower = caller(50);
        SlowCaller unknown = new SlowCaller(fixture.exchange(), callers);
        for (SlowCaller one : List.of(fast, slow, slower, unknown)) {
            waits(one, 400);
        }
        assertThat(List.of(fast, slow, slower, unknown)).noneMatch(SlowCaller::isChosen);

        waits(unknown, 401);

        assertThat(slower.isChosen()).isTrue();
        assertThat(List.of(fast, slow, unknown)).noneMatch(SlowCaller::isChosen);
    }

    @Test
    void countsTheBytesOfChosenReadersAsFree() {
        SlowCaller slow = caller(100);
        SlowCaller slower = caller(50);
        waits(slower, 400);
        waits(slow, 1201);
        assertThat(slower.isChosen()).isTrue();

        waits(slow, 1300);

        assertThat(slow.isChosen()).isFalse();
    }

    @Test
    void holdsNothingOfACallThatHasEnded() {
        SlowCaller slow = caller(100);
        waits(slow, LIMIT);
        assertThat(callers.unreadBytes()).isEqualTo(LIMIT);

        slow.end();

        assertThat(callers.unreadBytes()).isZero();
        assertThat(callers.endSlowest(streams)).isFalse();
    }

    @Test
    void endsTheSlowestCallThatCrawlsInTheStreamsThatOthersNeed() {
        SlowCaller slow = moved(CRAWLING_RATE - 1, streams);
        SlowCaller slower = moved(CRAWLING_RATE - 2, streams);
        SlowCaller elsewhere = moved(0, new QueueingBulkhead(1, 0));
        SlowCaller notMoved = caller(0);

        assertThat(callers.endSlowest(streams)).isTrue();

        assertThat(slower.isChosen()).isTrue();
        assertThat(List.of(slow, elsewhere, notMoved)).noneMatch(SlowCaller::isChosen);

        assertThat(callers.endSlowest(streams)).isTrue();
        assertThat(slow.isChosen()).isTrue();
        assertThat(callers.endSlowest(streams)).isFalse();
    }

    @Test
    void endsNoCallThatReadsAtTheSpeedOfANetwork() {
        SlowCaller usual = moved(CRAWLING_RATE, streams);

        assertThat(callers.endSlowest(streams)).isFalse();
        assertThat(usual.isChosen()).isFalse();
    }

    @Test
    void endsNoCallWhoseCallerDoesNotHoldItUpAnyMore() {
        SlowCaller caller = moved(0, streams);
        caller.look(false, 0, 6_000, fixture.now() + Duration.ofSeconds(2).toNanos());

        assertThat(callers.endSlowest(streams)).isFalse();
        assertThat(caller.isChosen()).isFalse();
    }

    @Test
    void endsNoCallThatHasGivenItsPermitBackMeanwhile() {
        SlowCaller caller = moved(0, streams);

        assertThat(callers.endSlowest(streams)).isTrue();
        caller.movedTo(null);
        fixture.channel.runPendingTasks();

        assertThat(caller.isChosen()).isFalse();
    }

    private SlowCaller moved(long bytesPerSecond, QueueingBulkhead compartment) {
        SlowCaller caller = caller(bytesPerSecond);
        caller.movedTo(compartment);
        return caller;
    }
}
