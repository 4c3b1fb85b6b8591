package io.weir.perf.report;

import java.awt.BasicStroke;
import java.awt.Color;
import java.awt.Font;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.knowm.xchart.AnnotationLine;
import org.knowm.xchart.AnnotationText;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.CategorySeries;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.AxesChartStyler;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.lines.SeriesLines;
import org.knowm.xchart.style.markers.SeriesMarkers;

/**
 * The plots of a run, as PNG: over the number that its steps are a series of, or over time and, where there are several steps, from step to step.
 */
final class Plots {

    /** A plot that was written. */
    record Plot(String file, String title) {}

    private static final int WIDTH = 960;
    private static final int HEIGHT = 340;
    private static final int REQUEST_NAMES_MAX = 8;
    private static final int[] PERCENTS = {50, 90, 99};
    private static final double FLOOR_MS = 0.1;
    private static final Color SHADE = new Color(90, 90, 110, 32);
    private static final Color QUIET = new Color(0x565f6b);
    private static final Color[] SERIES = {
        new Color(0x0b5cd6),
        new Color(0xa46200),
        new Color(0x1f7d52),
        new Color(0xcc2b38),
        new Color(0x8457c2),
        new Color(0x1f9aa8),
        new Color(0x7a5230),
        new Color(0xd14d9c)
    };

    private final Run run;
    private final Figures figures;
    private final Path directory;
    private final List<Plot> written = new ArrayList<>();

    private Plots(Run run, Figures figures, Path directory) {
        this.run = run;
        this.figures = figures;
        this.directory = directory;
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
        Plots plots = new Plots(run, figures, directory);
        plots.sideBySide(run.comparison());
        if (run.isOverX()) {
            plots.overX();
        } else {
            if (plots.looked().size() > 1 && run.spans().isEmpty()) {
                plots.fromStepToStep();
            }
            plots.overTime();
        }
        return plots.written;
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
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle(orElse(run.property("x"), "concurrent"))
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        Map<String, List<Run.Step>> byLabel = new java.util.LinkedHashMap<>();
        run.steps().stream()
                .filter(step -> step.x().isPresent() && Double.isFinite(figures.get(step, figure)))
                .sorted(java.util.Comparator.comparingDouble(step -> step.x().getAsDouble()))
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
                            .mapToDouble(step -> atLeast(logarithmic, figures.get(step, figure)))
                            .toArray());
            series.setLineColor(colour(index));
            series.setMarkerColor(colour(index));
            series.setMarker(SeriesMarkers.CIRCLE);
            index++;
        }
        double most = byLabel.values().stream()
                .flatMap(List::stream)
                .mapToDouble(step -> figures.get(step, figure))
                .max()
                .orElse(1);
        scale(chart.getStyler(), logarithmic, most);
        save(chart, figure, title);
    }

    // Side by side.

    /** A plot for each unit, of those figures that there are not too many of. */
    private void sideBySide(Comparison comparison) throws IOException {
        Map<String, List<Comparison.Row>> byUnit = comparison.rows().stream()
                .collect(
                        Collectors.groupingBy(Comparison.Row::unit, java.util.LinkedHashMap::new, Collectors.toList()));
        for (Map.Entry<String, List<Comparison.Row>> unit : byUnit.entrySet()) {
            List<Comparison.Row> rows = unit.getValue();
            if (rows.size() <= SERIES.length) {
                CategoryChart chart = categories("Side by side", unit.getKey());
                double most = 0;
                for (int i = 0; i < rows.size(); i++) {
                    List<Double> values = rows.get(i).values().stream()
                            .map(value -> value.orElse(0))
                            .toList();
                    chart.addSeries(rows.get(i).name(), comparison.of(), values).setFillColor(colour(i));
                    most = Math.max(
                            most,
                            values.stream()
                                    .mapToDouble(Double::doubleValue)
                                    .max()
                                    .orElse(0));
                }
                scale(chart.getStyler(), false, most);
                save(chart, "side-by-side-" + rows.getFirst().name(), "Side by side, " + unit.getKey());
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
        CategoryChart chart = categories("Outcomes", "% of requests");
        chart.getStyler().setStacked(true);
        chart.getStyler().setYAxisMin(0.0).setYAxisMax(100.0);
        Outcomes.colours(outcomes)
                .forEach((outcome, colour) -> chart.addSeries(outcome, labels(), values(outcome + "-percent"))
                        .setFillColor(colour));
        if (!outcomes.isEmpty()) {
            save(chart, "outcomes-by-step", "Outcomes");
        }
    }

    private void bars(String file, String title, String unit, List<String> names, List<String> figureNames)
            throws IOException {
        CategoryChart chart = categories(title, unit);
        double most = 0;
        for (int i = 0; i < names.size(); i++) {
            List<Double> values = values(figureNames.get(i));
            CategorySeries series = chart.addSeries(names.get(i), labels(), values);
            series.setFillColor(colour(i));
            most = Math.max(
                    most, values.stream().mapToDouble(Double::doubleValue).max().orElse(0));
        }
        if (most > 0) {
            scale(chart.getStyler(), false, most);
            save(chart, file, title);
        }
    }

    private CategoryChart categories(String title, String unit) {
        CategoryChart chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        chart.getStyler().setAvailableSpaceFill(0.6).setSeriesColors(SERIES);
        return chart;
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

    // Over time.

    private void overTime() throws IOException {
        if (!run.requests().isEmpty()) {
            Map<String, List<Run.Request>> byName = run.requests().stream()
                    .collect(Collectors.groupingBy(Run.Request::name, TreeMap::new, Collectors.toList()));
            if (byName.size() > REQUEST_NAMES_MAX) {
                byName = Map.of("all requests", run.requests());
            }
            for (Map.Entry<String, List<Run.Request>> named : byName.entrySet()) {
                outcomes(named.getKey(), named.getValue());
                latencies(named.getKey(), named.getValue());
            }
            inFlight(byName);
        }
        breakers();
        Map<String, List<Run.Meter>> meters = run.meters().stream()
                .filter(meter -> !meter.name().equals("weir_breaker_state"))
                .collect(Collectors.groupingBy(Run.Meter::name, TreeMap::new, Collectors.toList()));
        for (Map.Entry<String, List<Run.Meter>> meter : meters.entrySet()) {
            samples(
                    meter.getKey(),
                    meter.getKey(),
                    "",
                    meter.getValue().stream()
                            .collect(Collectors.groupingBy(
                                    one -> one.labels().isEmpty()
                                            ? meter.getKey()
                                            : String.join(" ", one.labels().values()),
                                    TreeMap::new,
                                    Collectors.mapping(one -> new Point(one.at(), one.value()), Collectors.toList()))));
        }
        Map<String, List<Run.Sample>> processes = run.processes().stream()
                .filter(sample -> !Run.isGenerator(sample.process()))
                .collect(Collectors.groupingBy(Run.Sample::process, TreeMap::new, Collectors.toList()));
        samples("cpu", "CPU", "% of a core", map(processes, Plots::cpu));
        samples(
                "memory",
                "Resident memory",
                "MB",
                map(processes, samples -> points(samples, one -> one.rssBytes() / 1e6)));
        samples("connections", "Connections", "", map(processes, samples -> points(samples, Run.Sample::connections)));
        samples("threads", "Threads", "", map(processes, samples -> points(samples, Run.Sample::threads)));
    }

    private record Point(long at, double value) {}

    private static <T> Map<String, List<Point>> map(
            Map<String, List<T>> lists, java.util.function.Function<List<T>, List<Point>> what) {
        Map<String, List<Point>> points = new TreeMap<>();
        lists.forEach((name, list) -> points.put(name, what.apply(list)));
        return points;
    }

    private static List<Point> points(List<Run.Sample> samples, ToDoubleFunction<Run.Sample> value) {
        return samples.stream()
                .map(sample -> new Point(sample.at(), value.applyAsDouble(sample)))
                .toList();
    }

    /** Between each two samples. A process that was started anew begins from nothing. */
    private static List<Point> cpu(List<Run.Sample> samples) {
        List<Point> points = new ArrayList<>();
        for (int i = 1; i < samples.size(); i++) {
            Run.Sample before = samples.get(i - 1);
            Run.Sample sample = samples.get(i);
            if (sample.at() > before.at() && sample.cpuMicros() >= before.cpuMicros()) {
                points.add(new Point(
                        sample.at(), (sample.cpuMicros() - before.cpuMicros()) / 10.0 / (sample.at() - before.at())));
            }
        }
        return points;
    }

    private void outcomes(String name, List<Run.Request> requests) throws IOException {
        Buckets buckets = Buckets.of(run);
        Map<String, Color> colours =
                Outcomes.colours(requests.stream().map(Run.Request::outcome).collect(Collectors.toSet()));
        Map<String, double[]> tops = new java.util.LinkedHashMap<>();
        double[] top = new double[buckets.count()];
        for (String outcome : colours.keySet()) {
            for (Run.Request request : requests) {
                if (request.outcome().equals(outcome)) {
                    top[buckets.of(request.at())] += 1000.0 / buckets.millis();
                }
            }
            tops.put(outcome, top.clone());
        }
        String title = "Requests by outcome: " + name;
        XYChart chart = overTime(title, "1/s");
        double most = Arrays.stream(top).max().orElse(1);
        for (String outcome : List.copyOf(tops.keySet()).reversed()) {
            Color colour = colours.getOrDefault(outcome, QUIET);
            XYSeries series = chart.addSeries(outcome, buckets.seconds(), tops.getOrDefault(outcome, top));
            area(series, XYSeries.XYSeriesRenderStyle.StepArea, colour);
            // Its legend is a line.
            series.setLineWidth(3);
        }
        scale(chart.getStyler(), false, most);
        save(withSteps(chart), "requests-" + name, title);
    }

    private void latencies(String name, List<Run.Request> requests) throws IOException {
        Buckets buckets = Buckets.of(run);
        Map<Integer, List<Run.Request>> byBucket =
                requests.stream().collect(Collectors.groupingBy(request -> buckets.of(request.at())));
        String title = "Latency of successes: " + name;
        XYChart chart = overTime(title, "ms");
        double most = 1;
        for (int i = 0; i < PERCENTS.length; i++) {
            double[] values = new double[buckets.count()];
            for (int bucket = 0; bucket < values.length; bucket++) {
                Latencies latencies = Latencies.ofSuccesses(byBucket.getOrDefault(bucket, List.of()));
                values[bucket] =
                        latencies.isEmpty() ? Double.NaN : Math.max(FLOOR_MS, latencies.percentile(PERCENTS[i]));
                most = Double.isNaN(values[bucket]) ? most : Math.max(most, values[bucket]);
            }
            if (Arrays.stream(values).allMatch(Double::isNaN)) {
                return;
            }
            line(chart, "p" + PERCENTS[i], buckets.seconds(), values, i);
        }
        scale(chart.getStyler(), true, most);
        save(withSteps(chart), "latency-" + name, title);
    }

    private void inFlight(Map<String, List<Run.Request>> byName) throws IOException {
        Buckets buckets = Buckets.of(run);
        XYChart chart = overTime("In flight, as callers see it", "requests");
        double most = 1;
        int index = 0;
        for (Map.Entry<String, List<Run.Request>> named : byName.entrySet()) {
            // The time that each spent in a bucket, as a share of it.
            double[] values = new double[buckets.count()];
            for (Run.Request request : named.getValue()) {
                for (int i = buckets.of(request.at()); i <= buckets.of((long) request.ended()); i++) {
                    double from = Math.max((double) request.at(), (double) i * buckets.millis());
                    double to = Math.min(request.ended(), (i + 1.0) * buckets.millis());
                    values[i] += Math.max(0, to - from) / buckets.millis();
                }
            }
            most = Math.max(most, Arrays.stream(values).max().orElse(1));
            line(chart, named.getKey(), buckets.seconds(), values, index++);
        }
        scale(chart.getStyler(), false, most);
        save(withSteps(chart), "in-flight", "In flight, as callers see it");
    }

    private void breakers() throws IOException {
        Map<String, List<Point>> states = run.meters().stream()
                .filter(meter -> meter.name().equals("weir_breaker_state") && meter.value() > 0)
                .collect(Collectors.groupingBy(
                        meter -> meter.labels().getOrDefault("backend", "?"),
                        TreeMap::new,
                        Collectors.mapping(
                                meter -> new Point(
                                        meter.at(), level(meter.labels().getOrDefault("state", ""))),
                                Collectors.toList())));
        if (states.isEmpty()) {
            return;
        }
        XYChart chart = overTime("Breaker state", "0 closed, 1 half-open, 2 open");
        int index = 0;
        for (Map.Entry<String, List<Point>> backend : states.entrySet()) {
            line(chart, backend.getKey(), seconds(backend.getValue()), values(backend.getValue()), index++)
                    .setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Step);
        }
        scale(chart.getStyler(), false, 2);
        save(withSteps(chart), "breaker", "Breaker state");
    }

    private static double level(String state) {
        return switch (state) {
            case "closed" -> 0;
            case "half-open", "half_open" -> 1;
            default -> 2;
        };
    }

    private void samples(String file, String title, String unit, Map<String, List<Point>> series) throws IOException {
        XYChart chart = overTime(title, unit);
        double most = 0;
        int index = 0;
        for (Map.Entry<String, List<Point>> one : series.entrySet()) {
            if (!one.getValue().isEmpty()) {
                line(chart, one.getKey(), seconds(one.getValue()), values(one.getValue()), index);
                most = Math.max(
                        most,
                        one.getValue().stream().mapToDouble(Point::value).max().orElse(0));
            }
            index++;
        }
        if (most > 0) {
            scale(chart.getStyler(), false, most);
            save(withSteps(chart), file, title);
        }
    }

    private static double[] seconds(List<Point> points) {
        return points.stream().mapToDouble(point -> point.at() / 1000.0).toArray();
    }

    private static double[] values(List<Point> points) {
        return points.stream().mapToDouble(Point::value).toArray();
    }

    private static XYSeries line(XYChart chart, String name, double[] x, double[] y, int index) {
        XYSeries series = chart.addSeries(name, x, y);
        series.setLineColor(colour(index));
        series.setLineWidth(1.6f);
        series.setMarker(SeriesMarkers.NONE);
        return series;
    }

    private static void area(XYSeries series, XYSeries.XYSeriesRenderStyle style, Color colour) {
        series.setXYSeriesRenderStyle(style);
        series.setFillColor(colour);
        series.setLineColor(colour);
        series.setMarker(SeriesMarkers.NONE);
    }

    private XYChart overTime(String title, String unit) {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(title)
                .xAxisTitle("s")
                .yAxisTitle(unit)
                .build();
        style(chart.getStyler());
        chart.getStyler().setXAxisMin(0.0).setXAxisMax(Buckets.of(run).end() / 1000.0);
        return chart;
    }

    /** Shades the spans, and says which step is where. */
    private XYChart withSteps(XYChart chart) {
        double low = chart.getStyler().getYAxisMin();
        double high = chart.getStyler().getYAxisMax();
        boolean several = run.steps().size() > 1;
        if (several) {
            // Room for their names.
            chart.getStyler().setYAxisMax(above(chart, low, high, 1.2));
        }
        Map<String, Integer> seen = new TreeMap<>();
        for (Run.Span span : run.spans()) {
            double from = span.from() / 1000.0;
            double to = span.to() / 1000.0;
            int times = seen.merge(span.label(), 1, Integer::sum);
            // A fault may be called as an outcome is.
            XYSeries shade = chart.addSeries(
                    "fault: " + (times == 1 ? span.label() : span.label() + ' ' + times),
                    new double[] {from, from, to, to},
                    new double[] {low, high, high, low});
            area(shade, XYSeries.XYSeriesRenderStyle.PolygonArea, SHADE);
            shade.setLineStyle(SeriesLines.NONE);
            shade.setShowInLegend(times == 1);
        }
        for (int i = 0; several && i < run.steps().size(); i++) {
            Run.Step step = run.steps().get(i);
            double began = step.began() / 1000.0;
            chart.addAnnotation(new AnnotationLine(began, true, false));
            // At three heights, so that neighbours do not run into each other.
            chart.addAnnotation(new AnnotationText(
                    step.label(),
                    (began + step.ended() / 1000.0) / 2,
                    above(chart, low, high, 1.17 - 0.06 * (i % 3)),
                    false));
        }
        return chart;
    }

    /** The value that is so far up, if the highest is at 1. */
    private static double above(XYChart chart, double low, double high, double share) {
        return chart.getStyler().isYAxisLogarithmic() ? low * Math.pow(high / low, share) : low + (high - low) * share;
    }

    private void style(AxesChartStyler styler) {
        Font font = new Font(Font.SANS_SERIF, Font.PLAIN, 12);
        styler.setAxisTickLabelsFont(font.deriveFont(11f))
                .setAxisTitleFont(font)
                .setPlotGridLinesColor(new Color(0xe3e6ea))
                .setXAxisMaxLabelCount(25);
        styler.setBaseFont(font);
        styler.setChartTitleFont(font.deriveFont(Font.BOLD, 14f))
                .setLegendFont(font.deriveFont(11f))
                .setLegendPosition(Styler.LegendPosition.OutsideE)
                .setLegendBorderColor(Color.WHITE)
                .setChartBackgroundColor(Color.WHITE)
                .setPlotBorderVisible(false)
                .setAnnotationTextFont(font.deriveFont(10f))
                .setAnnotationTextFontColor(QUIET)
                .setAnnotationLineColor(new Color(0xb9c0c9))
                .setAnnotationLineStroke(new BasicStroke(1))
                .setMarkerSize(6);
        styler.setDecimalPattern("#,###.###");
    }

    private static void scale(AxesChartStyler styler, boolean logarithmic, double most) {
        styler.setYAxisLogarithmic(logarithmic);
        if (logarithmic) {
            styler.setYAxisMin(FLOOR_MS).setYAxisMax(decadeAbove(most));
        } else {
            styler.setYAxisMin(0.0).setYAxisMax(most > 0 ? 1.1 * most : 1);
        }
    }

    private static double decadeAbove(double most) {
        return Math.pow(10, Math.ceil(Math.log10(Math.max(1, most * 1.05))));
    }

    private static double atLeast(boolean logarithmic, double value) {
        return logarithmic ? Math.max(FLOOR_MS, value) : value;
    }

    private static Color colour(int index) {
        return SERIES[index % SERIES.length];
    }

    private static String orElse(String text, String other) {
        return text.isEmpty() ? other : text;
    }

    private void save(Chart<?, ?> chart, String name, String title) throws IOException {
        String file = name.replaceAll("[^A-Za-z0-9._-]+", "-") + ".png";
        Files.write(directory.resolve(file), BitmapEncoder.getBitmapBytes(chart, BitmapEncoder.BitmapFormat.PNG));
        written.add(new Plot("plots/" + file, title));
    }
}
