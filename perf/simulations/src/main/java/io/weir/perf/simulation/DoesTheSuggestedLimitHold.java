package io.weir.perf.simulation;

import io.gatling.javaapi.core.Assertion;
import java.util.List;

/** The same callers against one limit after the other; under the one that was suggested they are to be served. */
public final class DoesTheSuggestedLimitHold extends Asking {

    private static final String CALLER = "caller";

    /** For Gatling. */
    public DoesTheSuggestedLimitHold() {
        setUp(clock(), callers(CALLER, false)).protocols(Callers.protocol()).assertions(assertions());
    }

    private List<Assertion> assertions() {
        return phases().stream()
                .filter(phase -> phase.name().equals("suggested"))
                .flatMap(phase -> succeed(CALLER, phase, "held.percent").stream())
                .toList();
    }
}
