package io.weir.metrics;

import java.util.function.IntSupplier;

/** Meters of the injected faults as a whole. */
public final class FaultMeters {

    private FaultMeters() {}

    /** Shows the number of active faults, for as long as the gateway runs. */
    public static void show(MeterBook book, IntSupplier active) {
        book.open().gauge(GatewayMeter.FAULTS_ACTIVE, active::getAsInt);
    }
}
