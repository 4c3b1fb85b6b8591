package io.weir.slowcaller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import io.weir.limit.QueueingBulkhead;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SlowCallersTest {

    private static final long NOW = Duration.ofHours(1).toNanos();
    private static final long LIMIT = 1600;
    private static final long EMERGENCY = 2800;
    private static final long MIN_RATE = 10;
    private static final long CRAWLING_RATE = SlowCallers.CRAWLING * MIN_RATE;
    private static final long NETWORK_RATE = 10 * CRAWLING_RATE;
    private static final long STEP = 150_000;
    private static final Duration STEP_TIME = Duration.ofMillis(1500);

    private final SlowCallers callers = new SlowCallers(LIMIT, MIN_RATE);
    private final QueueingBulkhead streams = new QueueingBulkhead(1, 0);
    private final Deque<Runnable> loop = new ArrayDeque<>();
    private final List<String> ended = new ArrayList<>();
    private @Nullable Runnable beforeNextTask;

    /** The event loop of all calls. */
    private void execute(Runnable task) {
        Runnable before = beforeNextTask;
        beforeNextTask = null;
        if (before != null) {
            before.run();
        }
        loop.add(task);
    }

    private void runTasks() {
        while (!loop.isEmpty()) {
            loop.remove().run();
        }
    }

    /** A caller whose rate is not known yet. */
    private SlowCaller caller() {
        return new SlowCaller(this::execute, ended::add, callers);
    }

    /** A caller whose rate is known. */
    private SlowCaller caller(long bytesPerSecond) {
        SlowCaller caller = caller();
        long begin = NOW - Duration.ofSeconds(4).toNanos();
        caller.look(true, 0, 5_000, begin);
        caller.look(true, 0, 5_000 + 2 * bytesPerSecond, begin + SlowCaller.LONGEST_LOOK_NANOS);
        assertThat(caller.bytesPerSecond(NOW)).isEqualTo((double) bytesPerSecond);
        return caller;
    }

    private SlowCaller moved(long bytesPerSecond, QueueingBulkhead compartment) {
        SlowCaller caller = caller(bytesPerSecond);
        caller.movedTo(compartment);
        return caller;
    }

    /** The rate does not change: no time passes in which it could be measured. */
    private void waits(SlowCaller caller, long unreadBytes) {
        caller.look(true, unreadBytes, 0, NOW - Duration.ofSeconds(2).toNanos());
    }

    private boolean endsSlowest() {
        return callers.endSlowest(streams, NOW);
    }

    // ---------------------------------------------------------------- memory

    @Test
    void endsTheSlowestCrawlingReadersOnceUnreadAnswersExceedTheLimit() {
        SlowCaller fast = caller(300);
        SlowCaller slow = caller(100);
        SlowCaller slower = caller(50);
        SlowCaller unknown = caller();
        for (SlowCaller one : List.of(fast, slow, slower, unknown)) {
            waits(one, 400);
        }
        assertThat(List.of(fast, slow, slower, unknown)).noneMatch(SlowCaller::isChosen);

        waits(unknown, 401);

        assertThat(slower.isChosen()).isTrue();
        assertThat(List.of(fast, slow, unknown)).noneMatch(SlowCaller::isChosen);

        runTasks();
        assertThat(ended).singleElement(STRING).startsWith("ended as one of the slowest readers");
    }

    @Test
    void endsReadersAtTheSpeedOfANetworkOnlyInAnEmergency() {
        List<SlowCaller> readers = List.of(
                caller(NETWORK_RATE + 3), caller(NETWORK_RATE + 2), caller(NETWORK_RATE), caller(NETWORK_RATE + 1));
        readers.forEach(one -> waits(one, EMERGENCY / readers.size()));
        assertThat(readers).noneMatch(SlowCaller::isChosen);

        waits(readers.getFirst(), EMERGENCY / readers.size() + 1);

        assertThat(readers).filteredOn(SlowCaller::isChosen).containsExactly(readers.get(2));
    }

    @Test
    void endsNoOtherReaderInAnEmergencyIfThoseThatCrawlFreeEnough() {
        SlowCaller crawling = caller(50);
        SlowCaller usual = caller(NETWORK_RATE);
        waits(usual, LIMIT);

        waits(crawling, EMERGENCY);

        assertThat(crawling.isChosen()).isTrue();
        assertThat(usual.isChosen()).isFalse();
    }

    @Test
    void endsAReaderWhoseRateBecomesKnownAfterItsLastBytes() {
        SlowCaller first = caller();
        SlowCaller second = caller();
        first.look(true, LIMIT, 0, NOW);
        second.look(true, LIMIT / 2, 0, NOW);
        assertThat(List.of(first, second)).noneMatch(SlowCaller::isChosen);

        first.look(true, LIMIT, 0, NOW + SlowCaller.LONGEST_LOOK_NANOS);

        assertThat(first.isChosen()).isTrue();
        assertThat(second.isChosen()).isFalse();
    }

    @Test
    void doesNotRepeatAVainSearchForReadersAtOnce() {
        SlowCaller usual = caller(NETWORK_RATE);
        SlowCaller crawling = caller(50);
        usual.look(true, LIMIT + 1, 0, NOW);

        crawling.look(true, 100, 0, NOW + SlowCallers.VAIN_NANOS - 1);
        assertThat(crawling.isChosen()).isFalse();

        callers.freeMemory(NOW + SlowCallers.VAIN_NANOS);
        assertThat(crawling.isChosen()).isTrue();
    }

    @Test
    void searchesAtOnceInAnEmergencyAlsoAfterAVainSearch() {
        SlowCaller usual = caller(NETWORK_RATE);
        usual.look(true, LIMIT + 1, 0, NOW);

        usual.look(true, EMERGENCY + 1, 0, NOW);

        assertThat(usual.isChosen()).isTrue();
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

    /** The sum of all bytes and the set of callers change one after the other, on another thread. */
    @Test
    void choosesNoOtherReaderWhileAChosenOneEndsOrReceivesMore() {
        SlowCaller slow = caller(100);
        SlowCaller slower = caller(50);
        waits(slower, 400);
        waits(slow, 1201);
        assertThat(slower.isChosen()).isTrue();

        callers.count(LIMIT);
        waits(slow, LIMIT - 1);
        assertThat(slow.isChosen()).as("the other one has received more").isFalse();
        callers.count(-LIMIT);

        callers.remove(slower);
        slow.look(true, LIMIT, 0, NOW - Duration.ofSeconds(2).toNanos() + SlowCallers.VAIN_NANOS);
        assertThat(slow.isChosen()).as("the other one ends").isFalse();

        slower.end();
        assertThat(callers.unreadBytes()).isEqualTo(LIMIT);
    }

    @Test
    void choosesNoMoreReadersIfAnotherEventLoopCountsBytesMeanwhile() {
        List<SlowCaller> readers = List.of(caller(10), caller(20), caller(30), caller(40));
        SlowCaller elsewhere = caller();
        readers.subList(0, 3).forEach(one -> waits(one, 500));

        beforeNextTask = () -> waits(elsewhere, 1);
        waits(readers.getLast(), 1300);

        assertThat(elsewhere.unreadBytes()).isOne();
        assertThat(readers).filteredOn(SlowCaller::isChosen).containsExactlyElementsOf(readers.subList(0, 3));
    }

    @Test
    void endsNoReaderThatHasReadItsAnswerMeanwhile() {
        SlowCaller reader = caller(50);
        waits(reader, LIMIT + 1);
        assertThat(reader.isChosen()).isTrue();

        reader.look(false, 0, 0, NOW);
        runTasks();

        assertThat(reader.isChosen()).isFalse();
        assertThat(ended).isEmpty();
    }

    @Test
    void holdsNothingOfACallThatHasEnded() {
        SlowCaller slow = moved(100, streams);
        waits(slow, LIMIT);
        assertThat(callers.unreadBytes()).isEqualTo(LIMIT);

        slow.end();

        assertThat(callers.unreadBytes()).isZero();
        assertThat(endsSlowest()).isFalse();
    }

    // ---------------------------------------------------------------- permits

    @Test
    void endsTheSlowestCallThatCrawlsInTheStreamsThatOthersNeed() {
        SlowCaller slow = moved(CRAWLING_RATE - 1, streams);
        SlowCaller slower = moved(CRAWLING_RATE - 2, streams);
        SlowCaller elsewhere = moved(0, new QueueingBulkhead(1, 0));
        SlowCaller notMoved = caller(0);

        assertThat(endsSlowest()).isTrue();

        assertThat(slower.isChosen()).isTrue();
        assertThat(List.of(slow, elsewhere, notMoved)).noneMatch(SlowCaller::isChosen);

        assertThat(endsSlowest()).isTrue();
        assertThat(slow.isChosen()).isTrue();
        assertThat(endsSlowest()).isFalse();
    }

    @Test
    void endsNoCallThatReadsAtTheSpeedOfANetwork() {
        SlowCaller usual = moved(CRAWLING_RATE, streams);

        assertThat(endsSlowest()).isFalse();
        assertThat(usual.isChosen()).isFalse();
    }

    @Test
    void endsNoCallWhoseCallerDoesNotHoldItUpAnyMore() {
        SlowCaller caller = moved(0, streams);
        caller.look(false, 0, 6_000, NOW + Duration.ofSeconds(2).toNanos());

        assertThat(endsSlowest()).isFalse();
        assertThat(caller.isChosen()).isFalse();
    }

    @Test
    void endsNoCallThatHasGivenItsPermitBackMeanwhile() {
        SlowCaller caller = moved(0, streams);

        assertThat(endsSlowest()).isTrue();
        caller.movedTo(null);
        runTasks();

        assertThat(caller.isChosen()).isFalse();
        assertThat(ended).isEmpty();
    }

    @Test
    void doesNotRepeatAVainSearchInACompartmentAtOnce() {
        assertThat(callers.endSlowest(streams, NOW)).isFalse();
        SlowCaller crawling = moved(0, streams);

        for (int i = 0; i < 100; i++) {
            assertThat(callers.endSlowest(streams, NOW + Duration.ofMillis(i).toNanos()))
                    .isFalse();
        }

        assertThat(callers.endSlowest(streams, NOW + SlowCallers.VAIN_NANOS)).isTrue();
        assertThat(crawling.isChosen()).isTrue();
    }

    @Test
    void searchesInACompartmentAfterAVainSearchInAnother() {
        assertThat(callers.endSlowest(new QueueingBulkhead(1, 0), NOW)).isFalse();
        SlowCaller crawling = moved(0, streams);

        assertThat(endsSlowest()).isTrue();
        assertThat(crawling.isChosen()).isTrue();
    }

    // ---------------------------------------------------------------- rates

    /** The kernel reports in steps what a caller at 100 kB/s reads. */
    @ParameterizedTest
    @CsvSource({"500, 0", "500, 400", "50, 20", "1250, 0", "1250, 1100"})
    void takesNoCallerForCrawlingThatReadsInSteps(long periodMillis, long offsetMillis) {
        SlowCallers usual = new SlowCallers(LIMIT, 240);
        SlowCaller caller = new SlowCaller(this::execute, ended::add, usual);
        caller.movedTo(streams);
        Duration time = Duration.ofMillis(offsetMillis);
        while (time.compareTo(STEP_TIME.multipliedBy(20)) < 0) {
            long read = time.dividedBy(STEP_TIME) * STEP;
            caller.look(true, 0, read, NOW + time.toNanos());
            assertThat(caller.bytesPerSecond(NOW)).as("after %s", time).isGreaterThan(SlowCallers.CRAWLING * 240);
            time = time.plusMillis(periodMillis);
        }
        assertThat(caller.bytesPerSecond(NOW)).isLessThan(Double.POSITIVE_INFINITY);
        assertThat(usual.endSlowest(streams, NOW)).isFalse();
    }

    @Test
    void knowsTheRateOfACallerThatMovesNothing() {
        SlowCaller caller = caller();
        caller.look(true, 0, 0, NOW);
        caller.look(true, 0, 0, NOW + SlowCaller.LONGEST_LOOK_NANOS - 1);
        assertThat(caller.bytesPerSecond(NOW)).isInfinite();

        caller.look(true, 0, 0, NOW + SlowCaller.LONGEST_LOOK_NANOS);

        assertThat(caller.bytesPerSecond(NOW)).isZero();
    }
}
