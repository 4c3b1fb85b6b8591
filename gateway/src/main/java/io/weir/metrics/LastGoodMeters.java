package io.weir.metrics;

import io.weir.lastgood.LastGoodStore;

/** Meters of the store of last good answers. */
public final class LastGoodMeters {

    private LastGoodMeters() {}

    /** Shows the store, for as long as the gateway runs. */
    public static void show(MeterBook book, LastGoodStore store) {
        MeterScope scope = book.open();
        scope.gauge(GatewayMeter.LAST_GOOD_MEMORY, store::bytes);
        scope.gauge(GatewayMeter.LAST_GOOD_MEMORY_LIMIT, store::maxBytes);
        scope.gauge(GatewayMeter.LAST_GOOD_RECORDING, store::recordingBytes);
    }
}
