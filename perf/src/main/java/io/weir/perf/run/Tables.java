package io.weir.perf.run;

import io.weir.perf.report.Comparison;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The raw files as tables for a terminal. */
final class Tables {

    private Tables() {}

    static String of(Path raw) {
        return requests(raw) + facts(raw);
    }

    private static String requests(Path raw) {
        Map<Integer, String> labels = new TreeMap<>();
        rows(raw, "steps")
                .forEach(row -> labels.put(Integer.parseInt(row.get(0)), (row.get(1) + " " + row.get(2)).strip()));
        Map<Integer, Map<String, List<Request>>> requests = new TreeMap<>();
        for (List<String> row : rows(raw, "requests")) {
            requests.computeIfAbsent(Integer.parseInt(row.get(0)), step -> new TreeMap<>())
                    .computeIfAbsent(row.get(3), name -> new ArrayList<>())
                    .add(new Request(Long.parseLong(row.get(1)), Long.parseLong(row.get(2)), row.get(3), row.get(4)));
        }
        StringBuilder table = new StringBuilder(String.format(
                Locale.ROOT,
                "%n%-26s %-12s %8s %9s %9s %9s  %s%n",
                "step",
                "request",
                "requests",
                "success",
                "p50 ms",
                "p99 ms",
                "otherwise"));
        requests.forEach((step, byName) -> byName.forEach((name, of) -> table.append(String.format(
                Locale.ROOT,
                "%-26s %-12s %8d %7.2f %% %9.1f %9.1f  %s%n",
                labels.getOrDefault(step, ""),
                name,
                of.size(),
                Request.percent(of, Request::succeeded),
                Request.percentile(of, 50),
                Request.percentile(of, 99),
                otherwise(of)))));
        return table.toString();
    }

    private static String otherwise(List<Request> of) {
        Map<String, Long> counts = of.stream()
                .filter(one -> !one.succeeded())
                .collect(Collectors.groupingBy(Request::outcome, TreeMap::new, Collectors.counting()));
        return counts.entrySet().stream()
                .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
                .map(entry -> entry.getKey() + " " + entry.getValue())
                .collect(Collectors.joining(", "));
    }

    private static String facts(Path raw) {
        List<Comparison.Fact> facts = rows(raw, "facts").stream()
                .map(row -> new Comparison.Fact(row.get(0), Double.parseDouble(row.get(1)), row.get(2)))
                .toList();
        Comparison comparison = Comparison.of(compare(raw), facts);
        StringBuilder table = new StringBuilder(String.format(Locale.ROOT, "%n"));
        if (!comparison.rows().isEmpty()) {
            table.append(String.format(Locale.ROOT, "%-32s", ""));
            comparison.of().forEach(one -> table.append(String.format(Locale.ROOT, "%14s", one)));
            table.append('\n');
            for (Comparison.Row row : comparison.rows()) {
                table.append(String.format(Locale.ROOT, "%-32s", row.name()));
                row.values()
                        .forEach(value -> table.append(
                                value.isPresent()
                                        ? String.format(Locale.ROOT, "%14.1f", value.getAsDouble())
                                        : String.format(Locale.ROOT, "%14s", "-")));
                table.append("  ").append(row.unit()).append('\n');
            }
            table.append('\n');
        }
        facts.stream()
                .filter(fact -> !comparison.has(fact.name()))
                .forEach(fact -> table.append(
                        String.format(Locale.ROOT, "%-48s %14.3f %s%n", fact.name(), fact.value(), fact.unit())));
        return table.append('\n').toString();
    }

    private static String compare(Path raw) {
        try (Stream<String> lines = Files.lines(raw.resolve("run.properties"))) {
            return lines.filter(line -> line.startsWith("compare="))
                    .map(line -> line.substring("compare=".length()))
                    .findFirst()
                    .orElse("");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<List<String>> rows(Path raw, String file) {
        try (Stream<List<String>> rows = Csv.rows(raw.resolve(file + ".csv"))) {
            return rows.skip(1).toList();
        }
    }
}
