package io.weir.perf.simulation;

import io.gatling.javaapi.core.Assertion;
import java.util.List;

/** One fault after the other at one backend, for long; its neighbour is served all along. What leaks is looked for from outside. */
public final class DoesAnythingLeak extends Asking {

    private static final String NEIGHBOUR = "neighbour";

    /** For Gatling. */
    public DoesAnythingLeak() {
        setUp(clock(), callers(NEIGHBOUR, false), callers("sick", false))
                .protocols(Callers.protocol())
                .assertions(assertions());
    }

    private List<Assertion> assertions() {
        return phases().stream()
                .filter(phase -> !phase.name().equals(WARM_UP))
                .flatMap(phase -> succeed(NEIGHBOUR, phase, "contained.percent").stream())
                .toList();
    }
}
