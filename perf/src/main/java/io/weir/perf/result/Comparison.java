package io.weir.perf.result;

import io.weir.perf.result.RunResult.Fact;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The facts of a run that compare products. {@code weir.forward.rate} and {@code haproxy.forward.rate} are
 * one row if the run's property {@code compare} is {@code weir,haproxy}. The products are the columns.
 */
public record Comparison(List<String> products, List<ComparedFigure> rows) {

    /** A figure of each product, in the order of the columns; empty if it was not measured. */
    public record ComparedFigure(String name, String unit, List<OptionalDouble> values) {}

    public static Comparison of(String compare, List<Fact> facts) {
        List<String> products = compare.isEmpty() ? List.of() : List.of(compare.split(",", -1));
        Map<String, Map<String, Fact>> byFigure = new LinkedHashMap<>();
        for (Fact fact : facts) {
            product(products, fact.name())
                    .ifPresent(product -> byFigure.computeIfAbsent(
                                    fact.name().substring(product.length() + 1), figure -> new LinkedHashMap<>())
                            .put(product, fact));
        }
        List<ComparedFigure> rows = byFigure.entrySet().stream()
                .map(figure -> new ComparedFigure(
                        figure.getKey(),
                        figure.getValue().values().iterator().next().unit(),
                        products.stream()
                                .map(figure.getValue()::get)
                                .map(fact -> fact == null ? OptionalDouble.empty() : OptionalDouble.of(fact.value()))
                                .toList()))
                .toList();
        return new Comparison(products, rows);
    }

    public boolean contains(String fact) {
        return product(products, fact).isPresent();
    }

    private static Optional<String> product(List<String> products, String fact) {
        return products.stream()
                .filter(product -> fact.startsWith(product + '.'))
                .findFirst();
    }
}
