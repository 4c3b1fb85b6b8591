package io.weir.metrics;

import java.util.function.LongSupplier;

/** The meter of the gateway's own log. */
public final class LogMeters {

    private LogMeters() {}

    /**
     * Shows the lost lines, for as long as the gateway runs.
     *
     * @param dropped lines that were dropped since the start
     */
    public static void show(MeterBook book, LongSupplier dropped) {
        book.open().counter(GatewayMeter.LOG_DROPPED, dropped::getAsLong);
    }
}
