package io.weir.perf.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * The plots of a run, as PNG: over the number that its steps are a series of, or over time and, where there are several steps, from step to step.
 */
final class Plots {

    /** A plot that was written. */
    record Plot(String file, String title) {}

    static final int[] PERCENTS = {50, 90, 99};

    private final Run run;
    private final Figures figures;
    private final Charts charts;

    private Plots(Run run, Figures figures, Charts charts) {
        this.run = run;
        this.figures = figures;
        this.charts = charts;
    }

    /** Writes them into the run's directory, into a folder of their own, and leaves there no others. */
    static List<Plot> write(Run run, Figures figures) throws IOException {
        Path directory = run.directory().resolve("plots");
        Files.createDirectories(directory);
        try (Stream<Path> old = Files.list(directory)) {
            for (Path file : old.filter(one -> one.toString().endsWith(".png")).toList()) {
                Files.delete(file);
            }
        }
        Charts charts = new Charts(directory);
        Plots plots = new Plots(run, figures, charts);
        plots.sideBySide(run.comparison());
        if (run.isOverX()) {
            plots.overX();
        } else {
            if (plots.looked().size() > 1 && run.spans().isEmpty()) {
                plots.fromStepToStep();
            }
            new PlotsOverTime(run, charts).write();
        }
        return charts.written();
    }

    /** The steps that are looked at. */
    private List<Run.Step> looked() {
        return run.steps().stream()
                .filter(step -> !step.label().equals("warm-up"))
                .toList();
    }

    private List<String> processes() {
        return run.processes().stream()
                .map(Run.Sample::process)
                .filter(process -> !Run.isGenerator(process))
                .distinct()
                .sorted()
                .toList();
    }

    // Over a number.

    private void overX() throws IOException {
        lines("throughput", "Successes in a second", "1/s", false);
        lines("p50-ms", "Latency of successes, median", "ms", true);
        lines("p90-ms", "Latency of successes, 90 %", "ms", true);
        lines("p99-ms", "Latency of successes, 99 %", "ms", true);
        lines("success-percent", "Successes", "%", false);
        for (String process : processes()) {
            lines("cpu-micros-per-request/" + process, "CPU time for a request: " + process, "µs", false);
            lines("cpu-percent/" + process, "CPU: " + process, "% of a core", false);
            lines("rss-mb/" + process, "Resident memory, the most: " + process, "MB", false);
            lines("rss-kb-per-request/" + process, "Resident memory for each request a second: " + process, "kB", true);
        }
    }

    private void lines(String figure, String title, String unit, boolean logarithmic) throws IOException {
        XYChart chart = Charts.lines(title, orElse(run.property("x"), "concurrent"), unit);
        Map<String, List<Run.Step>> byLabel = new LinkedHashMap<>();
        run.steps().stream()
                .filter(step -> step.x().isPresent() && Double.isFinite(figures.get(step, figure)))
                .sorted(Comparator.comparingDouble(step -> step.x().getAsDouble()))
                .forEach(step -> byLabel.computeIfAbsent(step.label(), _ -> new ArrayList<>())
                        .add(step));
        if (byLabel.isEmpty()) {
            return;
        }
        int index = 0;
        // By name, so that a series has the same colour in every plot.
        for (String label : new TreeSet<>(byLabel.keySet())) {
            List<Run.Step> steps = byLabel.getOrDefault(label, List.of());
            XYSeries series = chart.addSeries(
                    label,
                    steps.stream().mapToDouble(step -> step.x().getAsDouble()).toArray(),
                    steps.stream()
                            .mapToDouble(step -> Charts.atLeast(logarithmic, figures.get(step, figure)))
                            .toArray());
            series.setLineColor(Charts.colour(index));
            series.setMarkerColor(Charts.colour(index));
            series.setMarker(SeriesMarkers.CIRCLE);
            index++;
        }
        double most = byLabel.values().stream()
                .flatMap(List::stream)
                .mapToDouble(step -> figures.get(step, figure))
                .max()
                .orElse(1);
        Charts.scale(chart.getStyler(), logarithmic, most);
        charts.save(chart, figure, title);
    }

    // Side by side.

    /** A plot for each unit, of those figures that there are not too many of. */
    private void sideBySide(Comparison comparison) throws IOException {
        Map<String, List<Comparison.Row>> byUnit = comparison.rows().stream()
                .collect(Collectors.groupingBy(Comparison.Row::unit, LinkedHashMap::new, Collectors.toList()));
        for (Map.Entry<String, List<Comparison.Row>> unit : byUnit.entrySet()) {
            List<Comparison.Row> rows = unit.getValue();
            if (rows.size() <= Charts.SERIES_MAX) {
                CategoryChart chart = Charts.categories("Side by side", unit.getKey());
                double most = 0;
                for (int i = 0; i < rows.size(); i++) {
                    List<Double> values = rows.get(i).values().stream()
                            .map(value -> value.orElse(0))
                            .toList();
                    chart.addSeries(rows.get(i).name(), comparison.of(), values).setFillColor(Charts.colour(i));
                    most = Math.max(
                            most,
                            values.stream()
                                    .mapToDouble(Double::doubleValue)
                                    .max()
                                    .orElse(0));
                }
                Charts.scale(chart.getStyler(), false, most);
                charts.save(chart, "side-by-side-" + rows.getFirst().name(), "Side by side, " + unit.getKey());
            }
        }
    }

    // From step to step.

    private void fromStepToStep() throws IOException {
        outcomesByStep();
        bars(
                "latency-by-step",
                "Latency of successes",
                "ms",
                Arrays.stream(PERCENTS).mapToObj(percent -> "p" + percent).toList(),
                Arrays.stream(PERCENTS)
                        .mapToObj(percent -> "p" + percent + "-ms")
                        .toList());
        bars("throughput-by-step", "Successes in a second", "1/s", List.of("successes"), List.of("throughput"));
        List<String> processes = processes();
        if (!processes.isEmpty()) {
            bars(
                    "cpu-by-step",
                    "CPU",
                    "% of a core",
                    processes,
                    processes.stream().map(process -> "cpu-percent/" + process).toList());
        }
    }

    private void outcomesByStep() throws IOException {
        Set<String> outcomes =
                run.requests().stream().map(Run.Request::outcome).collect(Collectors.toCollection(TreeSet::new));
        CategoryChart chart = Charts.categories("Outcomes", "% of requests");
        chart.getStyler().setStacked(true);
        chart.getStyler().setYAxisMin(0.0).setYAxisMax(100.0);
        Outcomes.colours(outcomes)
                .forEach((outcome, colour) -> chart.addSeries(outcome, labels(), values(outcome + "-percent"))
                        .setFillColor(colour));
        if (!outcomes.isEmpty()) {
            charts.save(chart, "outcomes-by-step", "Outcomes");
        }
    }

    private void bars(String file, String title, String unit, List<String> names, List<String> figureNames)
            throws IOException {
        CategoryChart chart = Charts.categories(title, unit);
        double most = 0;
        for (int i = 0; i < names.size(); i++) {
            List<Double> values = values(figureNames.get(i));
            CategorySeries series = chart.addSeries(names.get(i), labels(), values);
            series.setFillColor(Charts.colour(i));
            most = Math.max(
                    most, values.stream().mapToDouble(Double::doubleValue).max().orElse(0));
        }
        if (most > 0) {
            Charts.scale(chart.getStyler(), false, most);
            charts.save(chart, file, title);
        }
    }

    private List<String> labels() {
        return looked().stream().map(Run.Step::name).toList();
    }

    private List<Double> values(String figure) {
        return looked().stream()
                .map(step -> figures.get(step, figure))
                .map(value -> value.isNaN() ? 0 : value)
                .toList();
    }

    private static String orElse(String text, String other) {
        return text.isEmpty() ? other : text;
    }
}
