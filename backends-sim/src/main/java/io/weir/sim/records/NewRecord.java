package io.weir.sim.records;

import io.weir.sim.problem.ProblemException;
import org.jspecify.annotations.Nullable;

/** The body of a write. Both fields are required; {@link #validated()} checks that, not the JSON parser. */
record NewRecord(@Nullable String name, @Nullable Integer amount) {

    private static final int NAME_MAX = 200;

    /** A body with both fields present and valid. */
    record ValidRecord(String name, int amount) {}

    ValidRecord validated() {
        if (name == null || name.isBlank() || name.length() > NAME_MAX) {
            throw ProblemException.badRequest(
                    "name: " + name + " (expected: text of 1 to " + NAME_MAX + " characters)");
        }
        if (amount == null) {
            throw ProblemException.badRequest("amount: missing (expected: a whole number)");
        }
        return new ValidRecord(name, amount);
    }
}
