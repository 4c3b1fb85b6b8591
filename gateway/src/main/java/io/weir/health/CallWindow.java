package io.weir.health;

import io.github.resilience4j.core.Clock;
import io.github.resilience4j.core.metrics.LockFreeFixedSizeSlidingWindowMetrics;
import io.github.resilience4j.core.metrics.LockFreeSlidingTimeWindowMetrics;
import io.github.resilience4j.core.metrics.Metrics;
import io.github.resilience4j.core.metrics.Snapshot;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The results of the last calls. The windows are Resilience4j's lock-free ones.
 *
 * <p>A window that counts calls is bounded in time, too: at low traffic, failures of ten minutes ago say
 * nothing about the backend now. Such a window consists of two: if at least {@code size} calls ended within
 * the last minute, the last {@code size} calls count; otherwise the last minute's calls do.
 */
final class CallWindow {

    private static final int OLDEST_SECONDS = 60;

    private final int size;
    private final @Nullable Metrics byCount;
    private final Metrics byTime;

    CallWindow(HealthSettings settings, LongSupplier nanoClock) {
        size = settings.slidingWindowSize();
        int seconds = settings.countsCalls() ? OLDEST_SECONDS : size;
        byCount = settings.countsCalls() ? new LockFreeFixedSizeSlidingWindowMetrics(size) : null;
        byTime = new LockFreeSlidingTimeWindowMetrics(seconds, new NanoClock(nanoClock));
    }

    /** Records a result, and returns the figures that include it. */
    Snapshot record(long nanos, Metrics.Outcome outcome) {
        Snapshot lately = byTime.record(nanos, TimeUnit.NANOSECONDS, outcome);
        return byCount == null ? lately : shorter(lately, byCount.record(nanos, TimeUnit.NANOSECONDS, outcome));
    }

    Snapshot snapshot() {
        Snapshot lately = byTime.getSnapshot();
        return byCount == null ? lately : shorter(lately, byCount.getSnapshot());
    }

    private Snapshot shorter(Snapshot lately, Snapshot last) {
        return lately.getTotalNumberOfCalls() >= size ? last : lately;
    }

    private record NanoClock(LongSupplier nanos) implements Clock {

        @Override
        public long wallTime() {
            return TimeUnit.NANOSECONDS.toMillis(nanos.getAsLong());
        }

        @Override
        public long monotonicTime() {
            return nanos.getAsLong();
        }
    }
}
