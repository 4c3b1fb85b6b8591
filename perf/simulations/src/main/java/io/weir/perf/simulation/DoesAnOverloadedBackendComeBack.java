package io.weir.perf.simulation;

import io.gatling.javaapi.core.Assertion;
import java.util.List;

/** Far too many callers for a while, and then as many as before: they are to be served again. */
public final class DoesAnOverloadedBackendComeBack extends Asking {

    private static final String CALLER = "caller";

    /** For Gatling. */
    public DoesAnOverloadedBackendComeBack() {
        setUp(clock(), callers(CALLER, true)).protocols(Callers.protocol()).assertions(assertions());
    }

    private List<Assertion> assertions() {
        return phases().stream()
                .filter(phase -> phase.name().startsWith(AFTER))
                .flatMap(phase -> succeed(CALLER, phase, "back.percent").stream())
                .toList();
    }
}
