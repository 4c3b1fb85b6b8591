package io.weir.perf.simulation;

import io.gatling.javaapi.core.Assertion;
import java.util.List;

/** A backend hangs for a short, a longer and a long time; most of those who come after it has healed are to be served. */
public final class HowSoonIsAHealedBackendServed extends Asking {

    private static final String CALLER = "caller";

    /** For Gatling. */
    public HowSoonIsAHealedBackendServed() {
        setUp(clock(), callers(CALLER, false)).protocols(Callers.protocol()).assertions(assertions());
    }

    private List<Assertion> assertions() {
        return phases().stream()
                .filter(phase -> phase.name().startsWith(AFTER))
                .flatMap(phase -> succeed(CALLER, phase, "healed.percent").stream())
                .toList();
    }
}
