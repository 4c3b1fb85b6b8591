package io.weir.sim.faults;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A script of timed faults, as it is written.
 *
 * @param seed of everything that is drawn; the same seed and requests make the same faults; default 0
 * @param script the faults, each with the time {@code after} which it begins; up to 100
 */
record FaultDocument(@Nullable Long seed, @Nullable List<FaultEntry> script) {

    private static final int SCRIPT_MAX = 100;

    /** The faults, in their order. {@code where} is the document's own place, such as {@code sim.faults.}. */
    List<Fault> read(String where) {
        if (script == null) {
            throw new FaultProblem(where + "script", "missing", "a list of faults, or a single fault as the document");
        }
        if (script.size() > SCRIPT_MAX) {
            throw new FaultProblem(where + "script", script.size() + " faults", "at most " + SCRIPT_MAX);
        }
        List<Fault> faults = new ArrayList<>();
        for (int i = 0; i < script.size(); i++) {
            faults.add(script.get(i).read(where + "script[" + i + "]."));
        }
        return faults;
    }

    long seedOrDefault() {
        return seed == null ? 0 : seed;
    }
}
