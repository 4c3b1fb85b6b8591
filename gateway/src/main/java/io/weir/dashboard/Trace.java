package io.weir.dashboard;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.limit.LogBuckets;
import io.weir.management.BackendView;
import io.weir.metrics.BackendMeters;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is remembered of a backend from one second to the next: its windows, and two minutes for the sparkline.
 *
 * <p>Not thread-safe: for the feed's thread, but for {@link #past}, whose arrays the feed guards.
 */
final class Trace {

    static final int HISTORY_SECONDS = 120;

    private static final double MILLISECOND = 1e6;

    private final BackendMeters meters;
    private final long[] outcomes = new long[ExchangeOutcomes.words().size()];
    private final long[] times = new long[LogBuckets.COUNT];
    private final long[] dispatches = new long[2];
    private final Window outcomesOf;
    private final Window totalTimes;
    private final Window backendTimes;
    private final Window budgets;
    private final int[] ended = new int[HISTORY_SECONDS];
    private final int[] trouble = new int[HISTORY_SECONDS];
    private int at;
    private final int[] active = new int[Window.SECONDS];
    private int largest;
    private int probeIntervalMillis;
    private CircuitBreakerConfig breakerConfig = CircuitBreakerConfig.ofDefaults();

    Trace(BackendMeters meters) {
        this.meters = meters;
        meters.totals().readOutcomes(outcomes);
        this.outcomesOf = new Window(outcomes);
        meters.totals().readDurations(times);
        this.totalTimes = new Window(times);
        meters.law().times(times);
        this.backendTimes = new Window(times);
        readDispatches();
        this.budgets = new Window(dispatches);
    }

    /** Whether it is about what these meters count. */
    boolean isOf(BackendMeters others) {
        return meters == others;
    }

    /** Another second has passed. */
    LiveView.OfBackend second(Backend backend) {
        meters.totals().readOutcomes(outcomes);
        outcomesOf.add(outcomes);
        meters.totals().readDurations(times);
        totalTimes.add(times);
        meters.law().times(times);
        backendTimes.add(times);
        readDispatches();
        budgets.add(dispatches);
        long endedNow = outcomesOf.added();
        long troubleNow =
                outcomesOf.added(outcome -> ExchangeOutcomes.kind(outcome).isTrouble());
        ended[at] = (int) endedNow;
        trouble[at] = (int) troubleNow;
        at = (at + 1) % HISTORY_SECONDS;

        BackendView now = BackendView.of(backend);
        breakerConfig = backend.breaker().resilience4j().getCircuitBreakerConfig();
        probeIntervalMillis = (int) backend.breaker().probeInterval().toMillis();
        active[at % Window.SECONDS] = now.calls().active();
        largest = Math.max(largest, now.calls().active());
        LiveView.Recent recent = recent(endedNow, troubleNow);
        return new LiveView.OfBackend(backend.name(), Trouble.of(now, recent.troubleShare()), recent, now);
    }

    private void readDispatches() {
        dispatches[0] = meters.dispatched();
        // Microseconds: a window of them is an int.
        dispatches[1] = (long) (meters.budgetLeftNanos() / 1_000);
    }

    private LiveView.Recent recent(long endedNow, long troubleNow) {
        Map<String, Long> counts = new LinkedHashMap<>();
        long all = 0;
        long bad = 0;
        long[] sum = outcomesOf.sum();
        for (int i = 0; i < sum.length; i++) {
            if (sum[i] != 0) {
                counts.put(ExchangeOutcomes.words().get(i), sum[i]);
                all += sum[i];
                bad += ExchangeOutcomes.kind(i).isTrouble() ? sum[i] : 0;
            }
        }
        return new LiveView.Recent(
                endedNow,
                troubleNow,
                (double) all / Window.SECONDS,
                all == 0 ? 0 : (double) bad / all,
                counts,
                percentiles(),
                budgetLeft());
    }

    private LiveView.@Nullable Percentiles percentiles() {
        long[] sum = totalTimes.sum();
        double median = millis(sum, 500);
        return median == 0
                ? null
                : new LiveView.Percentiles(median, millis(sum, 900), millis(sum, 990), millis(sum, 995));
    }

    private static double millis(long[] sum, int perMille) {
        return LogBuckets.quantile(sum, perMille, 1_000) / MILLISECOND;
    }

    private @Nullable Double budgetLeft() {
        long calls = budgets.sum()[0];
        return calls <= 0 ? null : Math.max(0, budgets.sum()[1] / 1_000.0 / calls);
    }

    LiveView.Past past() {
        return new LiveView.Past(inOrder(ended), inOrder(trouble));
    }

    private List<Integer> inOrder(int[] ring) {
        List<Integer> figures = new ArrayList<>(HISTORY_SECONDS);
        for (int i = 0; i < HISTORY_SECONDS; i++) {
            figures.add(ring[(at + i) % HISTORY_SECONDS]);
        }
        return figures;
    }

    /** How many ended in an outcome within the window. */
    long[] outcomes() {
        return outcomesOf.sum();
    }

    /** The times that exchanges took within the window, by {@link LogBuckets}. */
    long[] totalTimes() {
        return totalTimes.sum();
    }

    /** The times that calls took in the backend within the window, by {@link LogBuckets}. */
    long[] backendTimes() {
        return backendTimes.sum();
    }

    /** The settings of its breaker. */
    CircuitBreakerConfig breakerConfig() {
        return breakerConfig;
    }

    /** Time between two probes. */
    int probeIntervalMillis() {
        return probeIntervalMillis;
    }

    /** The most calls at once that a second of the window has ended with. */
    int maxActive() {
        return Arrays.stream(active).max().orElse(0);
    }

    /** The most calls at once that any second has ended with. */
    int largest() {
        return largest;
    }
}
