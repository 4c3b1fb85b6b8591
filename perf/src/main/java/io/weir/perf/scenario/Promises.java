package io.weir.perf.scenario;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What is promised, what was measured, and whether it holds. */
final class Promises {

    private record Promise(String what, String promised, String measured, boolean holds) {}

    private final List<Promise> all = new ArrayList<>();

    void add(String what, String promised, String measured, boolean holds) {
        all.add(new Promise(what, promised, measured, holds));
    }

    /** A share that has to be at least so large. */
    void atLeast(String what, double promised, double measured) {
        add(what, String.format(Locale.ROOT, "at least %.1f %%", promised), percent(measured), measured >= promised);
    }

    /** A share that has to be at most so large. */
    void atMost(String what, double promised, double measured) {
        add(what, String.format(Locale.ROOT, "at most %.1f %%", promised), percent(measured), measured <= promised);
    }

    boolean hold() {
        return all.stream().allMatch(Promise::holds);
    }

    String table() {
        StringBuilder table = new StringBuilder(
                String.format(Locale.ROOT, "%n%-70s %-26s %-56s %s%n", "", "promised", "measured", "holds"));
        for (Promise promise : all) {
            table.append(String.format(
                    Locale.ROOT,
                    "%-70s %-26s %-56s %s%n",
                    promise.what(),
                    promise.promised(),
                    promise.measured(),
                    promise.holds() ? "yes" : "NO"));
        }
        return table.toString();
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, "%.2f %%", value);
    }
}
