package io.weir.dashboard;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import io.weir.management.BackendView;
import io.weir.management.OperatorChangeView;
import io.weir.metrics.BackendMeters;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The recent figures of one backend: sliding windows of its counters, and two minutes for the sparklines.
 *
 * <p>Not thread-safe: for the feed's thread.
 */
final class BackendHistory {

    static final int HISTORY_SECONDS = 120;

    private static final double NANOS_PER_MILLI = 1e6;
    private static final double NANOS_PER_MICRO = 1e3;
    private static final double MICROS_PER_MILLI = 1e3;

    private final BackendMeters meters;
    /** The last readings of the counters. */
    private final long[] outcomes = new long[ExchangeOutcomes.words().size()];

    private final long[] times = new long[LogBuckets.COUNT];
    /**
     * The number of dispatched calls, the sum of their time left in microseconds, the calls that ended, and
     * the attempts: first and repeated ones.
     */
    private final long[] dispatches = new long[5];

    private final SlidingWindow outcomesWindow;
    private final SlidingWindow totalTimes;
    private final SlidingWindow backendTimes;
    private final SlidingWindow dispatchesWindow;
    private final int[] ended = new int[HISTORY_SECONDS];
    private final int[] trouble = new int[HISTORY_SECONDS];
    private final int[] limit = new int[HISTORY_SECONDS];
    private final int[] active = new int[HISTORY_SECONDS];
    private final String[] limitChange = new String[HISTORY_SECONDS];
    private @Nullable BackendView previous;
    private int nextSecond;
    private int maxActiveEver;
    private int probeIntervalMillis;
    private CircuitBreakerConfig breakerConfig = CircuitBreakerConfig.ofDefaults();

    BackendHistory(BackendMeters meters) {
        this.meters = meters;
        meters.totals().readOutcomes(outcomes);
        this.outcomesWindow = new SlidingWindow(outcomes);
        meters.totals().readDurations(times);
        this.totalTimes = new SlidingWindow(times);
        meters.law().times(times);
        this.backendTimes = new SlidingWindow(times);
        readDispatches();
        this.dispatchesWindow = new SlidingWindow(dispatches);
        Arrays.fill(limitChange, LimitMovement.NONE);
    }

    /** Whether this history reads these meters. */
    boolean isOf(BackendMeters others) {
        return meters == others;
    }

    /** Adds a second; called once a second. */
    LiveView.BackendSnapshot addSecond(Backend backend, List<OperatorChangeView> changes) {
        meters.totals().readOutcomes(outcomes);
        outcomesWindow.add(outcomes);
        meters.totals().readDurations(times);
        totalTimes.add(times);
        meters.law().times(times);
        backendTimes.add(times);
        readDispatches();
        dispatchesWindow.add(dispatches);
        long endedNow = outcomesWindow.lastSecond();
        long troubleNow = outcomesWindow.lastSecond(
                outcome -> ExchangeOutcomes.kind(outcome).isTrouble());
        BackendView now = BackendView.of(backend, changes);
        ended[nextSecond] = (int) endedNow;
        trouble[nextSecond] = (int) troubleNow;
        limit[nextSecond] = now.calls().limit();
        active[nextSecond] = now.calls().active();
        String movement = previous == null ? LimitMovement.NONE : LimitMovement.reason(previous, now);
        limitChange[nextSecond] = movement;
        previous = now;
        nextSecond = (nextSecond + 1) % HISTORY_SECONDS;

        breakerConfig = backend.health().resilience4j().getCircuitBreakerConfig();
        probeIntervalMillis =
                (int) backend.health().settings().recovery().probeInterval().toMillis();
        maxActiveEver = Math.max(maxActiveEver, now.calls().active());
        long all = outcomesInWindow(outcome -> true);
        long troubled =
                outcomesInWindow(outcome -> ExchangeOutcomes.kind(outcome).isTrouble());
        double share = all == 0 ? 0 : (double) troubled / all;
        LiveView.Recent recent = recent(endedNow, troubleNow, (double) all / SlidingWindow.SECONDS, share, movement);
        return new LiveView.BackendSnapshot(backend.name(), Severity.of(now, troubled, all), recent, now);
    }

    /** Calls that have used a permit and ended, in the window. */
    long recentlyCompleted() {
        return dispatchesWindow.sum()[2];
    }

    /** Calls that have used a permit and ended, since the start. */
    long completed() {
        return meters.served();
    }

    private void readDispatches() {
        dispatches[0] = meters.dispatched();
        // In microseconds, since a window stores the increase of a second as an int.
        dispatches[1] = (long) (meters.budgetLeftNanos() / NANOS_PER_MICRO);
        dispatches[2] = meters.served();
        dispatches[3] = meters.firstAttempts();
        dispatches[4] = meters.repeatedAttempts();
    }

    private long outcomesInWindow(IntPredicate wanted) {
        long[] sum = outcomesWindow.sum();
        return IntStream.range(0, sum.length)
                .filter(wanted)
                .mapToLong(outcome -> sum[outcome])
                .sum();
    }

    private LiveView.Recent recent(long endedNow, long troubleNow, double rate, double troubleShare, String movement) {
        Map<String, Long> counts = new LinkedHashMap<>();
        long[] sum = outcomesWindow.sum();
        for (int i = 0; i < sum.length; i++) {
            if (sum[i] != 0) {
                counts.put(ExchangeOutcomes.words().get(i), sum[i]);
            }
        }
        return new LiveView.Recent(
                endedNow,
                troubleNow,
                rate,
                troubleShare,
                counts,
                percentiles(),
                budgetLeftMillis(),
                amplification(),
                movement.isEmpty() ? null : movement);
    }

    private LiveView.@Nullable Percentiles percentiles() {
        long[] sum = totalTimes.sum();
        double median = millis(sum, 500);
        return median == 0
                ? null
                : new LiveView.Percentiles(median, millis(sum, 900), millis(sum, 990), millis(sum, 995));
    }

    private static double millis(long[] sum, int perMille) {
        return LogBuckets.quantile(sum, perMille, 1_000) / NANOS_PER_MILLI;
    }

    private @Nullable Double budgetLeftMillis() {
        long calls = dispatchesWindow.sum()[0];
        return calls <= 0 ? null : Math.max(0, dispatchesWindow.sum()[1] / MICROS_PER_MILLI / calls);
    }

    private @Nullable Double amplification() {
        long calls = dispatchesWindow.sum()[3];
        return calls <= 0 ? null : (double) (calls + dispatchesWindow.sum()[4]) / calls;
    }

    /** The figures of the sparklines. */
    LiveView.History history() {
        return new LiveView.History(
                oldestFirst(second -> ended[second]),
                oldestFirst(second -> trouble[second]),
                oldestFirst(second -> limit[second]),
                oldestFirst(second -> active[second]),
                oldestFirst(second -> limitChange[second]));
    }

    private <T> List<T> oldestFirst(IntFunction<T> figure) {
        List<T> figures = new ArrayList<>(HISTORY_SECONDS);
        for (int i = 0; i < HISTORY_SECONDS; i++) {
            figures.add(figure.apply((nextSecond + i) % HISTORY_SECONDS));
        }
        return figures;
    }

    /** The number of exchanges by outcome within the window. */
    long[] outcomes() {
        return outcomesWindow.sum();
    }

    /** The number of exchanges by duration within the window, by {@link LogBuckets}. */
    long[] totalTimes() {
        return totalTimes.sum();
    }

    /** The number of calls by their time in the backend within the window, by {@link LogBuckets}. */
    long[] backendTimes() {
        return backendTimes.sum();
    }

    /** The settings of the backend's breaker. */
    CircuitBreakerConfig breakerConfig() {
        return breakerConfig;
    }

    /** Time between two probes. */
    int probeIntervalMillis() {
        return probeIntervalMillis;
    }

    /** Largest number of concurrent calls at the end of a second within the window. */
    int maxActive() {
        int most = 0;
        for (int i = 1; i <= SlidingWindow.SECONDS; i++) {
            most = Math.max(most, active[(nextSecond + HISTORY_SECONDS - i) % HISTORY_SECONDS]);
        }
        return most;
    }

    /** Largest number of concurrent calls at the end of any second. */
    int maxActiveEver() {
        return maxActiveEver;
    }
}
