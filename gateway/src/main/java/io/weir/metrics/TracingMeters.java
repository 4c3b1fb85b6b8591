package io.weir.metrics;

import java.util.function.LongSupplier;

/** What metrics tell of the spans that were made. */
public final class TracingMeters {

    private TracingMeters() {}

    /** Shows what became of them, for as long as the gateway runs. */
    public static void show(MeterBook book, LongSupplier exported, LongSupplier dropped, LongSupplier failed) {
        MeterBook.MeterScope page = book.open();
        page.counter(Meters.SPANS, exported::getAsLong, "exported");
        page.counter(Meters.SPANS, dropped::getAsLong, "dropped");
        page.counter(Meters.SPANS, failed::getAsLong, "failed");
    }
}
