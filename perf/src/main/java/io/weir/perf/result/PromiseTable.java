package io.weir.perf.result;

import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
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

    public void addAll(PromiseTable other) {
        rows.append(other.rows);
        allHold &= other.allHold;
    }

    /** A value without a promise, for comparison. */
    public void show(String text, String measured) {
        add("(" + text + ")", "", measured, true);
    }

    /** A value with a lower bound. */
    public void atLeast(String text, double promised, double measured, String unit) {
        add(text, "at least " + number(promised, unit), number(measured, unit), measured >= promised);
    }

    /** A value with an upper bound. */
    public void atMost(String text, double promised, double measured, String unit) {
        add(text, "at most " + number(promised, unit), number(measured, unit), measured <= promised);
    }

    /** All of some requests, of which there is at least one. */
    public void all(String text, long count, long total) {
        add(text, "all", count + " of " + total, count == total && total > 0);
    }

    /** A number with at most two decimals. */
    public static String number(double value, String unit) {
        String number = new DecimalFormat("0.##", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(value);
        return (number + ' ' + unit).strip();
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
