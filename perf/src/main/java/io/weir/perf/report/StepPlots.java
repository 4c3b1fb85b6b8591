package io.weir.perf.report;

import io.weir.perf.report.Charts.Point;
import io.weir.perf.result.Comparison;
import io.weir.perf.result.Comparison.ComparedFigure;
import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.style.markers.SeriesMarkers;
import org.springframework.util.FileSystemUtils;

/** The plots that compare the steps of a run; writes all plots of a run. */
record StepPlots(RunResult run, RunFigures figures, Charts charts) {

    static List<Charts.Plot> write(RunResult run, RunFigures figures) throws IOException {
        Path directory = run.directory().resolve("plots");
        FileSystemUtils.deleteRecursively(directory);
        Charts charts = new Charts(Files.createDirectories(directory), new ArrayList<>());
        StepPlots plots = new StepPlots(run, figures, charts);
        plots.compareProducts(run.comparison());
        if (run.isSeries()) {
            plots.plotSeries();
        } else {
            if (plots.comparedSteps().size() > 1 && run.spans().isEmpty()) {
                plots.compareSteps();
            }
            if (!run.panels().isEmpty()) {
                new PanelPlot(run, charts).write();
            }
            new TimePlots(run, charts).write();
        }
        return charts.written();
    }

    private List<Step> comparedSteps() {
        return run.steps().stream()
                .filter(step -> !step.label().equals(RunResult.WARM_UP))
                .toList();
    }

    private void plotSeries() throws IOException {
        plotSeries("throughput", "Successes per second", "1/s", false);
        plotSeries("p50-ms", "Latency of successes, median", "ms", true);
        plotSeries("p99-ms", "Latency of successes, 99 %", "ms", true);
        plotSeries("success-percent", "Successes", "%", false);
        for (String process : run.processesUnderTest().keySet()) {
            plotSeries("cpu-micros-per-request/" + process, "CPU time per request: " + process, "µs", false);
            String perRequest = "Resident memory per request per second: " + process;
            plotSeries("rss-kb-per-request/" + process, perRequest, "kB", true);
        }
    }

    /**
     * Plots a figure over the number of the series. Labels are sorted, so that each keeps its colour in all
     * plots.
     */
    private void plotSeries(String figure, String title, String unit, boolean logarithmic) throws IOException {
        Map<String, List<Point>> byLabel = new TreeMap<>();
        for (Step step : run.steps()) {
            double value = figures.get(step, figure);
            if (step.hasX() && Double.isFinite(value)) {
                byLabel.computeIfAbsent(step.label(), _ -> new ArrayList<>())
                        .add(new Point(Double.parseDouble(step.x()), value));
            }
        }
        if (byLabel.isEmpty()) {
            return;
        }
        XYChart chart = Charts.lines(
                title, run.properties().getOrDefault("x", "concurrent"), unit, Charts.WIDTH, Charts.HEIGHT);
        byLabel.forEach((label, points) -> {
            points.sort(Comparator.comparingDouble(Point::x));
            Charts.line(chart, label, points, logarithmic).setMarker(SeriesMarkers.CIRCLE);
        });
        Charts.scale(chart.getStyler(), Charts.max(byLabel.values()), logarithmic);
        charts.save(chart, figure, title);
    }

    /** One plot for each unit with at most as many figures as there are colours. */
    private void compareProducts(Comparison comparison) throws IOException {
        Map<String, List<ComparedFigure>> byUnit = comparison.rows().stream()
                .collect(Collectors.groupingBy(ComparedFigure::unit, LinkedHashMap::new, Collectors.toList()));
        for (Map.Entry<String, List<ComparedFigure>> unit : byUnit.entrySet()) {
            List<ComparedFigure> rows = unit.getValue();
            if (rows.size() <= Charts.MAX_SERIES) {
                Map<String, List<Double>> series = new LinkedHashMap<>();
                rows.forEach(row -> series.put(
                        row.name(),
                        row.values().stream().map(value -> value.orElse(0)).toList()));
                String file = "side-by-side-" + rows.getFirst().name();
                charts.saveBars(file, "Side by side", unit.getKey(), comparison.products(), series);
            }
        }
    }

    private void compareSteps() throws IOException {
        compareOutcomes();
        compareSteps("latency-by-step", "Latency of successes", "ms", TimePlots.PERCENTILES, one -> one + "-ms");
        compareSteps("throughput-by-step", "Successes per second", "1/s", List.of("successes"), one -> "throughput");
        Set<String> processes = run.processesUnderTest().keySet();
        compareSteps("cpu-by-step", "CPU", "% of a core", processes, process -> "cpu-percent/" + process);
    }

    private void compareSteps(
            String file, String title, String unit, Collection<String> names, Function<String, String> figure)
            throws IOException {
        Map<String, List<Double>> series = new LinkedHashMap<>();
        names.forEach(name -> series.put(name, values(figure.apply(name))));
        charts.saveBars(file, title, unit, stepNames(), series);
    }

    private void compareOutcomes() throws IOException {
        if (run.requests().isEmpty()) {
            return;
        }
        CategoryChart chart = Charts.bars("Outcomes", "% of requests");
        chart.getStyler().setStacked(true).setYAxisMin(0.0).setYAxisMax(100.0);
        OutcomeKind.colours(run.requests().by(Request::outcome).keySet())
                .forEach((outcome, colour) -> chart.addSeries(outcome, stepNames(), values(outcome + "-percent"))
                        .setFillColor(colour));
        charts.save(chart, "outcomes-by-step", "Outcomes");
    }

    private List<String> stepNames() {
        return comparedSteps().stream().map(Step::name).toList();
    }

    private List<Double> values(String figure) {
        return comparedSteps().stream()
                .map(step -> figures.get(step, figure))
                .map(value -> value.isNaN() ? 0 : value)
                .toList();
    }
}
