package io.weir.sim.faults;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the requests on the service's port that have not been answered yet, held ones included. */
final class InFlight {

    private final AtomicInteger requests = new AtomicInteger();

    InFlight(MeterRegistry meters) {
        Gauge.builder("sim.requests.in.flight", requests, AtomicInteger::get)
                .description("Requests on the service's port that have not been answered yet")
                .register(meters);
    }

    void began() {
        requests.incrementAndGet();
    }

    void ended() {
        requests.decrementAndGet();
    }
}
