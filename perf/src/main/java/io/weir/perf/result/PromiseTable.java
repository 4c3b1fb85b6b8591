package io.weir.perf.result;

import java.util.Locale;

/** Promised and measured values of a scenario or benchmark. */
public final class PromiseTable {

    private static final String ROW = "%-70s %-26s %-56s %s%n";

    private final StringBuilder rows = new StringBuilder();
    private boolean allHold = true;

    public void add(String text, String promised, String measured, boolean holds) {
        rows.append(String.format(Locale.ROOT, ROW, text, promised, measured, holds ? "yes" : "NO"));
        allHold &= holds;
    }

    /** A percentage with a lower bound. */
    public void atLeast(String text, double promised, double percent) {
        add(text, String.format(Locale.ROOT, "at least %.1f %%", promised), percent(percent), percent >= promised);
    }

    /** A percentage with an upper bound. */
    public void atMost(String text, double promised, double percent) {
        add(text, String.format(Locale.ROOT, "at most %.1f %%", promised), percent(percent), percent <= promised);
    }

    private static String percent(double value) {
        return String.format(Locale.ROOT, "%.2f %%", value);
    }

    public boolean allHold() {
        return allHold;
    }

    /** The table for a terminal; the last column is {@code yes} or {@code NO}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%n" + ROW, "", "promised", "measured", "holds") + rows;
    }
}
