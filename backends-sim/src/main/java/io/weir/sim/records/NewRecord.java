package io.weir.sim.records;

import io.weir.sim.problem.Refusal;
import org.jspecify.annotations.Nullable;

/** What a caller writes. Both fields must be there; they are looked at by {@link #checked()}, not by the JSON reader. */
record NewRecord(@Nullable String name, @Nullable Integer amount) {

    private static final int NAME_MAX = 200;

    /** What is written, all of it there. */
    record Checked(String name, int amount) {}

    Checked checked() {
        if (name == null || name.isBlank() || name.length() > NAME_MAX) {
            throw Refusal.badRequest("name: " + name + " (expected: text of 1 to " + NAME_MAX + " characters)");
        }
        if (amount == null) {
            throw Refusal.badRequest("amount: missing (expected: a whole number)");
        }
        return new Checked(name, amount);
    }
}
