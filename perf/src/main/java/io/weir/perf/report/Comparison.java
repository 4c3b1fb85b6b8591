package io.weir.perf.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * The facts of a run that are the same figure of several things, side by side: {@code weir.forward.rate} and {@code haproxy.forward.rate} are a row where the run's property
 * {@code compare} is {@code weir,haproxy}.
 *
 * @param of what is compared, in the order of its columns
 * @param rows the figures, in the order of the facts
 */
public record Comparison(List<String> of, List<Row> rows) {

    /**
     * A figure.
     *
     * @param values in the order of the columns; empty where there is none
     */
    public record Row(String name, String unit, List<OptionalDouble> values) {}

    /**
     * A fact.
     *
     * @param name with what it is of in front, up to the first point
     */
    public record Fact(String name, double value, String unit) {}

    /** Of what that property names; of nothing, if it is empty. */
    public static Comparison of(String compare, List<Fact> facts) {
        List<String> labels = compare.isEmpty() ? List.of() : List.of(compare.split(",", -1));
        Map<String, Map<String, Fact>> byName = new LinkedHashMap<>();
        for (Fact fact : facts) {
            if (isOf(labels, fact.name())) {
                int point = fact.name().indexOf('.');
                byName.computeIfAbsent(fact.name().substring(point + 1), name -> new LinkedHashMap<>())
                        .put(fact.name().substring(0, point), fact);
            }
        }
        List<Row> rows = new ArrayList<>();
        byName.forEach((name, values) -> rows.add(new Row(
                name,
                values.values().iterator().next().unit(),
                labels.stream()
                        .map(values::get)
                        .map(fact -> fact == null ? OptionalDouble.empty() : OptionalDouble.of(fact.value()))
                        .toList())));
        return new Comparison(labels, List.copyOf(rows));
    }

    /** Whether a fact stands in it. */
    public boolean has(String fact) {
        return isOf(of, fact);
    }

    private static boolean isOf(List<String> labels, String fact) {
        int point = fact.indexOf('.');
        return point > 0 && labels.contains(fact.substring(0, point));
    }
}
