package io.weir.metrics;

import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A timer whose series exist from its first use on. Most of many backends are idle, and a timer has 17
 * series.
 */
// Concurrency: two threads that create the timer get the same one; the order of their writes does not matter.
final class LateTimer {

    private final MeterScope scope;
    private final Meters meter;
    private final String tagValue;
    private volatile @Nullable Timer timer;

    LateTimer(MeterScope scope, Meters meter, String tagValue) {
        this.scope = scope;
        this.meter = meter;
        this.tagValue = tagValue;
    }

    /** Records a time; no effect if the scope is closed, and the timer was not in use. */
    void record(long nanos) {
        Timer known = timer;
        if (known == null) {
            known = scope.timerIfOpen(meter, tagValue);
            if (known == null) {
                return;
            }
            timer = known;
        }
        known.record(nanos, TimeUnit.NANOSECONDS);
    }

    long count() {
        Timer known = timer;
        return known == null ? 0 : known.count();
    }

    double totalNanos() {
        Timer known = timer;
        return known == null ? 0 : known.totalTime(TimeUnit.NANOSECONDS);
    }
}
