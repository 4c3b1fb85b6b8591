package io.weir.metrics;

import java.util.function.IntSupplier;
import java.util.function.LongSupplier;

/** What metrics tell of the gateways that share limits. */
public final class ClusterMeters {

    private ClusterMeters() {}

    /** Shows a count, for as long as the gateway runs. */
    public static void show(MeterBook book, IntSupplier gateways, LongSupplier failures) {
        MeterBook.MeterScope page = book.open();
        page.gauge(Meters.CLUSTER_GATEWAYS, gateways::getAsInt);
        page.counter(Meters.CLUSTER_FAILURES, failures::getAsLong);
    }
}
