package io.weir.metrics;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/** Meters of the gateways that share limits of scope cluster. */
public final class ClusterMeters {

    private ClusterMeters() {}

    /**
     * Shows the number of gateways, for as long as this gateway runs.
     *
     * @param gateways gateways according to DNS; 0: unknown
     * @param failures failed look-ups and divisions since the start
     */
    public static void show(MeterBook book, IntSupplier gateways, LongSupplier failures) {
        MeterScope scope = book.open();
        scope.gauge(GatewayMeter.CLUSTER_GATEWAYS, gateways::getAsInt);
        scope.counter(GatewayMeter.CLUSTER_FAILURES, failures::getAsLong);
    }
}
