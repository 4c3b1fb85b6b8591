package io.weir.sim.faults;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the unanswered requests on the service's port, including those that a fault holds. */
final class InFlightRequests {

    private final AtomicInteger requests = new AtomicInteger();

    InFlightRequests(MeterRegistry meters) {
        Gauge.builder("sim.requests.in.flight", requests, AtomicInteger::get)
                .description("Unanswered requests on the service's port")
                .register(meters);
    }

    void requestStarted() {
        requests.incrementAndGet();
    }

    void requestEnded() {
        requests.decrementAndGet();
    }
}
