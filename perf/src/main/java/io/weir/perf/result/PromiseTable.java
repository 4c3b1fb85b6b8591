package io.weir.perf.result;

import io.weir.perf.result.RunResult.Fact;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Promised and measured values of a scenario or benchmark. */
public final class PromiseTable {

    private static final String ROW = "%-70s %-26s %-56s %s%n";

    /** A row; {@code promised} is empty for a value without a promise. */
    public record Promise(String text, String promised, String measured, boolean holds) {}

    private final List<Promise> rows;
    private final List<Fact> facts;
    private final String prefix;

    public PromiseTable() {
        this(new ArrayList<>(), new ArrayList<>(), "");
    }

    private PromiseTable(List<Promise> rows, List<Fact> facts, String prefix) {
        this.rows = rows;
        this.facts = facts;
        this.prefix = prefix;
    }

    /** The same table; the texts of rows that are added by the result begin with the prefix. */
    public PromiseTable of(String ownPrefix) {
        return new PromiseTable(rows, facts, prefix + ownPrefix);
    }

    public void add(String text, String promised, String measured, boolean holds) {
        rows.add(new Promise(prefix + text, promised, measured, holds));
    }

    public void addAll(PromiseTable other) {
        rows.addAll(other.rows);
        facts.addAll(other.facts);
    }

    /** A figure that claims are about, and that is compared between products; the table does not show it. */
    public void fact(String name, double value, String unit) {
        facts.add(new Fact(name, value, unit));
    }

    public List<Fact> facts() {
        return List.copyOf(facts);
    }

    public List<Promise> rows() {
        return List.copyOf(rows);
    }

    /** A value without a promise, for comparison. */
    public void show(String text, String measured) {
        rows.add(new Promise("(" + prefix + text + ")", "", measured, true));
    }

    /** The rows of another product, without their promises. */
    public void showAll(String product, PromiseTable other) {
        other.rows.forEach(row -> show(product + ": " + row.text(), row.measured()));
    }

    public void atLeast(String text, double promised, double measured, String unit) {
        add(text, "at least " + number(promised, unit), number(measured, unit), measured >= promised);
    }

    public void atMost(String text, double promised, double measured, String unit) {
        add(text, "at most " + number(promised, unit), number(measured, unit), measured <= promised);
    }

    /** All of some requests, of which there is at least one. */
    public void all(String text, long count, long total) {
        add(text, "all", count + " of " + total, count == total && total > 0);
    }

    public static String number(double value, String unit) {
        String number = new DecimalFormat("0.##", DecimalFormatSymbols.getInstance(Locale.ROOT)).format(value);
        return (number + ' ' + unit).strip();
    }

    public boolean allHold() {
        return broken().isEmpty();
    }

    /** The texts of the promises that do not hold. */
    public List<String> broken() {
        return rows.stream().filter(row -> !row.holds).map(Promise::text).toList();
    }

    /** The table for a terminal; the last column is {@code yes} or {@code NO}. */
    @Override
    public String toString() {
        StringBuilder text =
                new StringBuilder(String.format(Locale.ROOT, "%n" + ROW, "", "promised", "measured", "holds"));
        for (Promise row : rows) {
            String holds = row.holds ? "yes" : "NO";
            text.append(String.format(Locale.ROOT, ROW, row.text, row.promised, row.measured, holds));
        }
        return text.toString();
    }
}
