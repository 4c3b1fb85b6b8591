package io.weir.metrics;

import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;

/** Meters of the rate limits that all gateways share. */
public final class SharedRateLimitMeters {

    private SharedRateLimitMeters() {}

    /**
     * Shows the counter, for as long as this gateway runs.
     *
     * @param availableShare the share of all keys whose counter answers; 0 to 1
     * @param localDecisions requests that this gateway has decided about by itself
     */
    public static void show(MeterBook book, DoubleSupplier availableShare, LongSupplier localDecisions) {
        MeterScope scope = book.open();
        scope.gauge(RouteMeter.RATE_LIMIT_SHARED_UP, availableShare::getAsDouble);
        scope.counter(RouteMeter.RATE_LIMIT_LOCAL, localDecisions::getAsLong);
    }
}
