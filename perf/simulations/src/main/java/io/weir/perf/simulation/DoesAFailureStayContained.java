package io.weir.perf.simulation;

import io.gatling.javaapi.core.Assertion;
import java.util.ArrayList;
import java.util.List;

/**
 * One backend is in trouble; its neighbour is not to notice, its own callers are to be told soon, and once it is well they are to be served again.
 *
 * <p>Phases come as {@code calm}, a fault's name, {@code after FAULT}; in {@code overload} the backend's callers come at {@code weir.overload.rate} instead.
 */
public final class DoesAFailureStayContained extends Asking {

    private static final String NEIGHBOUR = "neighbour";
    private static final String SICK = "sick";

    /** For Gatling. */
    public DoesAFailureStayContained() {
        setUp(clock(), callers(NEIGHBOUR, false), callers(SICK, true))
                .protocols(Callers.protocol())
                .assertions(assertions());
    }

    /** Counts and orders of magnitude: how close is in the figures. */
    private List<Assertion> assertions() {
        List<Assertion> assertions = new ArrayList<>();
        for (Plan.Phase phase : phases()) {
            if (phase.name().startsWith(AFTER)) {
                assertions.addAll(succeed(SICK, phase, "healed.percent"));
            } else if (!phase.name().equals(CALM) && !phase.name().equals(WARM_UP)) {
                assertions.addAll(succeed(NEIGHBOUR, phase, "contained.percent"));
                assertions.addAll(endWithin(NEIGHBOUR, phase, "neighbour.p99"));
                assertions.addAll(endWithin(SICK, phase, "sick.p99"));
            }
        }
        return assertions;
    }
}
