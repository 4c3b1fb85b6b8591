package io.weir.sim.faults;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A script of timed faults, as written.
 *
 * @param seed seed of all random draws; the same seed and the same requests cause the same faults; default 0
 * @param script the faults, each with the time {@code after} which it starts; at most 100
 */
record FaultScript(@Nullable Long seed, @Nullable List<FaultDefinition> script) {

    private static final int SCRIPT_MAX = 100;

    /**
     * The validated faults in order. {@code location} is the document's place, such as {@code sim.faults.}.
     */
    List<Fault> validate(String location) {
        if (script == null) {
            throw new InvalidFaultException(
                    location + "script", "missing", "a list of faults, or a single fault as the document");
        }
        if (script.size() > SCRIPT_MAX) {
            throw new InvalidFaultException(location + "script", script.size() + " faults", "at most " + SCRIPT_MAX);
        }
        List<Fault> faults = new ArrayList<>();
        for (int i = 0; i < script.size(); i++) {
            faults.add(script.get(i).validate(location + "script[" + i + "]."));
        }
        return faults;
    }

    long seedOrDefault() {
        return seed == null ? 0 : seed;
    }
}
