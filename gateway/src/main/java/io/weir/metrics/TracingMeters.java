package io.weir.metrics;

import java.util.function.LongSupplier;

/** Meters of the spans. */
public final class TracingMeters {

    private TracingMeters() {}

    /**
     * Shows the number of spans by result, for as long as the gateway runs. All counts are since the start.
     *
     * @param exported spans that the collector accepted
     * @param dropped spans that found the queue full
     * @param failed spans that the collector did not accept
     */
    public static void show(MeterBook book, LongSupplier exported, LongSupplier dropped, LongSupplier failed) {
        MeterScope scope = book.open();
        scope.counter(GatewayMeter.SPANS, exported::getAsLong, "exported");
        scope.counter(GatewayMeter.SPANS, dropped::getAsLong, "dropped");
        scope.counter(GatewayMeter.SPANS, failed::getAsLong, "failed");
    }
}
