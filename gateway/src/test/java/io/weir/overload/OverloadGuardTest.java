package io.weir.overload;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Priority;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverloadGuardTest {

    private final AtomicLong clock = new AtomicLong();
    private final InFlightShare share = new InFlightShare();
    private final VirtualLoop loop = new VirtualLoop(clock);
    private @Nullable OverloadSampler sampler;

    @AfterEach
    void close() {
        if (sampler != null) {
            sampler.close();
        }
    }

    @ParameterizedTest(name = "{0} beyond {1} in flight and {2} % of memory")
    @CsvSource({"SHEDDABLE, 80, 72", "NORMAL, 95, 85", "CRITICAL, 100, 90"})
    void refusesALowerClassEarlier(Priority priority, int inFlight, int memoryPercent) {
        OverloadGuard guard = guard(100);

        for (int i = 0; i < inFlight; i++) {
            assertThat(guard.takePlace(share, priority)).isTrue();
        }
        assertThat(guard.takePlace(share, priority)).isFalse();
        assertThat(guard.sharedInFlight()).isEqualTo(inFlight);
        guard.giveBackPlace(share);
        guard.observe(0, 0, memoryPercent);
        assertThat(guard.takePlace(share, priority)).isTrue();
        guard.giveBackPlace(share);
        guard.observe(0, 0, memoryPercent + 1);
        assertThat(guard.takePlace(share, priority)).isFalse();

        assertThat(guard.refused(ShedCause.IN_FLIGHT, priority)).isEqualTo(1);
        assertThat(guard.refused(ShedCause.MEMORY, priority)).isEqualTo(1);
        assertThat(guard.refused(ShedCause.DELAY, priority)).isZero();
        assertThat(share.inFlight()).as("refused exchanges hold no place").isEqualTo(inFlight - 1);
    }

    @ParameterizedTest
    @CsvSource({"SHEDDABLE", "NORMAL", "CRITICAL"})
    void admitsOneRequestOfEachClassAtALimitOfOne(Priority priority) {
        OverloadGuard guard = guard(1);

        assertThat(guard.takePlace(share, priority)).isTrue();
        assertThat(guard.takePlace(share, priority)).isFalse();
    }

    @Test
    void showsThePlacesThatNoBackendIsGuaranteed() {
        OverloadGuard guard = guard(100);

        guard.divide(List.of(new InFlightShare.Claim(share, 30), new InFlightShare.Claim(new InFlightShare(), null)));

        assertThat(guard.maxInFlight()).isEqualTo(100);
        assertThat(guard.maxSharedInFlight()).isEqualTo(63);
    }

    @Test
    void refusesAtTheHeadIfAllRequestsHaveOneClass() {
        OverloadGuard guard = overloaded(100);
        long before = guard.refused(ShedCause.DELAY, Priority.NORMAL);

        assertThat(guard.refusesHead(loop, null)).isTrue();
        assertThat(guard.refused(ShedCause.DELAY, Priority.NORMAL)).isEqualTo(before + 1);
        // Each request is judged once.
        assertThat(guard.refusesRequest(loop, null, Priority.NORMAL)).isFalse();
        assertThat(guard.isAnyLoopShedding()).isTrue();
    }

    @Test
    void refusesByClassIfRequestsHaveDifferentOnes() {
        OverloadGuard guard = overloaded(100);
        guard.setOnlyPriority(null);

        assertThat(guard.refusesHead(loop, null)).isFalse();
        assertThat(guard.refusesRequest(loop, null, Priority.NORMAL)).isTrue();
        assertThat(guard.refusesRequest(loop, null, Priority.SHEDDABLE)).isTrue();
        assertThat(guard.refusesRequest(loop, null, Priority.CRITICAL)).isFalse();
        assertThat(guard.refused(ShedCause.DELAY, Priority.SHEDDABLE)).isEqualTo(1);
    }

    @Test
    void refusesAtTheHeadByTheClassThatItAsksFor() {
        OverloadGuard guard = overloaded(100);
        guard.setOnlyPriority(null);

        assertThat(guard.refusesHead(loop, Priority.NORMAL)).isTrue();
        assertThat(guard.refusesHead(loop, Priority.CRITICAL)).isFalse();
        // Each request is judged once.
        assertThat(guard.refusesRequest(loop, Priority.NORMAL, Priority.SHEDDABLE))
                .isFalse();
        guard.setOnlyPriority(Priority.NORMAL);
        assertThat(guard.refusesHead(loop, Priority.CRITICAL)).isFalse();
        assertThat(guard.refused(ShedCause.DELAY, Priority.CRITICAL)).isZero();
    }

    @Test
    void refusesEveryClassAtTheHeadAboveTheHardLimit() {
        OverloadGuard guard = overloaded(300);
        guard.setOnlyPriority(null);

        assertThat(guard.refusesHead(loop, null)).isTrue();
    }

    @Test
    void refusesNothingOnOtherLoops() {
        OverloadGuard guard = overloaded(300);

        assertThat(guard.refusesHead(Runnable::run, null)).isFalse();
        guard.setOnlyPriority(null);
        assertThat(guard.refusesRequest(Runnable::run, null, Priority.SHEDDABLE))
                .isFalse();
    }

    @Test
    void givesTurnsToCostlyTasksByLoop() {
        OverloadGuard guard = overloaded(100);
        Runnable task = () -> {};

        assertThat(guard.takeTurn(loop, task)).isTrue();
        assertThat(guard.takeTurn(loop, task)).isFalse();
        guard.leaveTurns(loop, task);
        assertThat(guard.takeTurn(Runnable::run, task)).isTrue();
    }

    /** A guard whose loop has iterations of this length. */
    private OverloadGuard overloaded(long millis) {
        OverloadGuard guard = guard(100);
        sampler = new OverloadSampler(
                Map.of(loop, loop),
                () -> () -> 0,
                _ -> () -> 0,
                new MemoryShare(List.of(), 1, () -> 0, 1),
                guard,
                clock::get);
        sampler.startLoops();
        for (int i = 0; i < 5; i++) {
            loop.iterate(millis);
            IntStream.range(0, 20).forEach(_ -> guard.refusesHead(loop, null));
        }
        loop.iterate(millis);
        return guard;
    }

    private static OverloadGuard guard(int maxInFlight) {
        return new OverloadGuard(new OverloadProperties(
                maxInFlight, Duration.ofMillis(10), Duration.ofMillis(100), Duration.ofMillis(250), 90));
    }
}
