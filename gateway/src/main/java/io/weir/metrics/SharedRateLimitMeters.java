package io.weir.metrics;

import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/** Meters of the rate limits that all gateways share. */
public final class SharedRateLimitMeters {

    private SharedRateLimitMeters() {}

    /**
     * Shows the counter, for as long as this gateway runs.
     *
     * @param isAvailable whether the counter answers
     * @param localDecisions requests that this gateway has decided about by itself
     */
    public static void show(MeterBook book, BooleanSupplier isAvailable, LongSupplier localDecisions) {
        MeterScope scope = book.open();
        scope.gauge(Meters.RATE_LIMIT_SHARED_UP, () -> isAvailable.getAsBoolean() ? 1 : 0);
        scope.counter(Meters.RATE_LIMIT_LOCAL, localDecisions::getAsLong);
    }
}
