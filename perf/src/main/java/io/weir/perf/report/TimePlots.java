package io.weir.perf.report;

import io.weir.perf.report.Charts.Point;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.Request;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.MeterSample;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.result.RunResult.ShadedSpan;
import io.weir.perf.result.RunResult.Step;
import java.awt.Color;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.knowm.xchart.AnnotationLine;
import org.knowm.xchart.AnnotationText;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.XYSeries.XYSeriesRenderStyle;
import org.knowm.xchart.style.lines.SeriesLines;

/** The plots of a run over time: requests, the gateway's meters, and the resources of the processes. */
final class TimePlots {

    static final List<String> PERCENTILES = List.of("p50", "p90", "p99");

    private static final int MAX_REQUEST_NAMES = 8;
    private static final Color SHADE = new Color(90, 90, 110, 32);
    private static final int[] BUCKET_MILLIS = {250, 500, 1000, 2000, 5000, 10_000, 30_000};
    private static final int MAX_BUCKETS = 300;

    private final RunResult run;
    private final Charts charts;
    private final int bucketMillis;
    private final int buckets;

    TimePlots(RunResult run, Charts charts) {
        this.run = run;
        this.charts = charts;
        long end = LongStream.concat(
                        run.steps().stream().mapToLong(Step::endedMillis),
                        run.requests().stream().mapToLong(Request::atMillis))
                .max()
                .orElse(1);
        this.bucketMillis = IntStream.of(BUCKET_MILLIS)
                .filter(millis -> end / millis < MAX_BUCKETS)
                .findFirst()
                .orElse(60_000);
        this.buckets = (int) (end / bucketMillis) + 1;
    }

    private int bucket(long atMillis) {
        return (int) Math.min(buckets - 1L, atMillis / bucketMillis);
    }

    private List<Point> perBucket(IntToDoubleFunction value) {
        return IntStream.range(0, buckets)
                .mapToObj(i -> new Point((double) i * bucketMillis / 1000, value.applyAsDouble(i)))
                .toList();
    }

    void write() throws IOException {
        if (!run.requests().isEmpty()) {
            Map<String, List<Request>> byName = group(run.requests(), Request::name);
            if (byName.size() > MAX_REQUEST_NAMES) {
                byName = Map.of("all requests", run.requests());
            }
            for (Map.Entry<String, List<Request>> named : byName.entrySet()) {
                plotOutcomes(named.getKey(), named.getValue());
                plotLatencies(named.getKey(), named.getValue());
            }
            plot("in-flight", "Requests in flight at the callers", "requests", map(byName, this::inFlight));
        }
        plotBreakers();
        Map<String, List<MeterSample>> meters = group(run.meters(), MeterSample::name);
        meters.remove("weir_breaker_state");
        for (Map.Entry<String, List<MeterSample>> meter : meters.entrySet()) {
            Map<String, List<MeterSample>> byLabels = group(
                    meter.getValue(),
                    one -> one.labels().isEmpty()
                            ? meter.getKey()
                            : String.join(" ", one.labelsByName().values()));
            plot(
                    meter.getKey(),
                    meter.getKey(),
                    "",
                    map(
                            byLabels,
                            samples -> samples.stream()
                                    .map(one -> new Point(one.atMillis() / 1000.0, one.value()))
                                    .toList()));
        }
        Map<String, List<ProcessSample>> processes = group(
                run.processes().stream()
                        .filter(sample -> !RunResult.isGenerator(sample.process()))
                        .toList(),
                ProcessSample::process);
        plot("cpu", "CPU", "% of a core", map(processes, TimePlots::cpuPercent));
        plot("memory", "Resident memory", "MB", map(processes, all -> points(all, one -> one.rssBytes() / 1e6)));
        plot("connections", "Connections", "", map(processes, all -> points(all, ProcessSample::connections)));
        plot("threads", "Threads", "", map(processes, all -> points(all, ProcessSample::threads)));
    }

    private static <T> Map<String, List<T>> group(List<T> all, Function<T, String> name) {
        return all.stream().collect(Collectors.groupingBy(name, TreeMap::new, Collectors.toList()));
    }

    private static <T> Map<String, List<Point>> map(Map<String, List<T>> lists, Function<List<T>, List<Point>> line) {
        Map<String, List<Point>> lines = new TreeMap<>();
        lists.forEach((name, list) -> lines.put(name, line.apply(list)));
        return lines;
    }

    private static List<Point> points(List<ProcessSample> samples, ToDoubleFunction<ProcessSample> value) {
        return samples.stream()
                .map(sample -> new Point(sample.atMillis() / 1000.0, value.applyAsDouble(sample)))
                .toList();
    }

    /** Between consecutive samples. The CPU time of a restarted process begins again at 0. */
    private static List<Point> cpuPercent(List<ProcessSample> samples) {
        List<Point> points = new ArrayList<>();
        for (int i = 1; i < samples.size(); i++) {
            ProcessSample previous = samples.get(i - 1);
            ProcessSample sample = samples.get(i);
            long micros = sample.cpuMicros() - previous.cpuMicros();
            long millis = sample.atMillis() - previous.atMillis();
            if (millis > 0 && micros >= 0) {
                points.add(new Point(sample.atMillis() / 1000.0, micros / 10.0 / millis));
            }
        }
        return points;
    }

    private void plotOutcomes(String name, List<Request> requests) throws IOException {
        Map<String, Color> colours = OutcomeKind.colours(
                requests.stream().map(Request::outcome).distinct().toList());
        Map<String, List<Point>> stacked = new LinkedHashMap<>();
        double[] top = new double[buckets];
        for (String outcome : colours.keySet()) {
            for (Request request : requests) {
                if (request.outcome().equals(outcome)) {
                    top[bucket(request.atMillis())] += 1000.0 / bucketMillis;
                }
            }
            stacked.put(outcome, perBucket(i -> top[i]));
        }
        String title = "Requests by outcome: " + name;
        XYChart chart = chart(title, "1/s");
        // The highest area is drawn first, so that the lower ones cover it.
        for (String outcome : List.copyOf(stacked.keySet()).reversed()) {
            XYSeries series = Charts.line(chart, outcome, stacked.getOrDefault(outcome, List.of()), 0, false);
            Charts.area(series, XYSeriesRenderStyle.StepArea, colours.getOrDefault(outcome, Color.GRAY));
            // The legend shows the line.
            series.setLineWidth(3);
        }
        Charts.scale(chart, stacked.values(), false);
        annotateSteps(chart);
        charts.save(chart, "requests-" + name, title);
    }

    private void plotLatencies(String name, List<Request> requests) throws IOException {
        Map<Integer, Latencies> byBucket = requests.stream()
                .collect(Collectors.groupingBy(
                        request -> bucket(request.atMillis()),
                        Collectors.collectingAndThen(Collectors.toList(), Latencies::ofSuccesses)));
        Latencies none = Latencies.ofSuccesses(List.of());
        Map<String, List<Point>> lines = new LinkedHashMap<>();
        for (String percentile : PERCENTILES) {
            double percent = Double.parseDouble(percentile.substring(1));
            lines.put(percentile, perBucket(i -> byBucket.getOrDefault(i, none).percentile(percent)));
        }
        plot("latency-" + name, "Latency of successes: " + name, "ms", lines, true, XYSeriesRenderStyle.Line);
    }

    /** The time of all requests in each bucket, as a multiple of the bucket. */
    private List<Point> inFlight(List<Request> requests) {
        double[] values = new double[buckets];
        for (Request request : requests) {
            double end = request.atMillis() + request.micros() / 1000.0;
            for (int i = bucket(request.atMillis()); i <= bucket((long) end); i++) {
                double from = Math.max((double) request.atMillis(), (double) i * bucketMillis);
                double to = Math.min(end, (i + 1.0) * bucketMillis);
                values[i] += Math.max(0, to - from) / bucketMillis;
            }
        }
        return perBucket(i -> values[i]);
    }

    private void plotBreakers() throws IOException {
        Map<String, List<MeterSample>> states = group(
                run.meters().stream()
                        .filter(meter -> meter.name().equals("weir_breaker_state") && meter.value() > 0)
                        .toList(),
                meter -> meter.labelsByName().getOrDefault("backend", "?"));
        Map<String, List<Point>> lines = map(
                states,
                samples -> samples.stream()
                        .map(one -> new Point(
                                one.atMillis() / 1000.0,
                                switch (one.labelsByName().getOrDefault("state", "")) {
                                    case "closed" -> 0;
                                    case "half-open", "half_open" -> 1;
                                    default -> 2;
                                }))
                        .toList());
        plot("breaker", "Breaker state", "0 closed, 1 half-open, 2 open", lines, false, XYSeriesRenderStyle.Step);
    }

    private void plot(String file, String title, String unit, Map<String, List<Point>> lines) throws IOException {
        plot(file, title, unit, lines, false, XYSeriesRenderStyle.Line);
    }

    /** Writes a plot; nothing if all values are 0 or NaN, except for states. */
    private void plot(
            String file,
            String title,
            String unit,
            Map<String, List<Point>> lines,
            boolean logarithmic,
            XYSeriesRenderStyle style)
            throws IOException {
        if (lines.isEmpty() || (style != XYSeriesRenderStyle.Step && Charts.max(lines.values()) <= 0)) {
            return;
        }
        XYChart chart = chart(title, unit);
        int index = 0;
        for (Map.Entry<String, List<Point>> line : lines.entrySet()) {
            if (!line.getValue().isEmpty()) {
                Charts.line(chart, line.getKey(), line.getValue(), index, logarithmic)
                        .setXYSeriesRenderStyle(style);
            }
            index++;
        }
        Charts.scale(chart, lines.values(), logarithmic);
        annotateSteps(chart);
        charts.save(chart, file, title);
    }

    private XYChart chart(String title, String unit) {
        XYChart chart = Charts.lines(title, "s", unit);
        chart.getStyler().setXAxisMin(0.0).setXAxisMax((double) buckets * bucketMillis / 1000);
        return chart;
    }

    /** Shades the spans and names the steps. */
    private void annotateSteps(XYChart chart) {
        double low = chart.getStyler().getYAxisMin();
        double high = chart.getStyler().getYAxisMax();
        boolean several = run.steps().size() > 1;
        if (several) {
            // Space for the names of the steps.
            chart.getStyler().setYAxisMax(valueAt(chart, low, high, 1.2));
        }
        Map<String, Integer> repetitions = new TreeMap<>();
        for (ShadedSpan span : run.spans()) {
            double from = span.fromMillis() / 1000.0;
            double to = span.toMillis() / 1000.0;
            int repetition = repetitions.merge(span.label(), 1, Integer::sum);
            // The prefix keeps the name different from that of an outcome.
            XYSeries shade = chart.addSeries(
                    "fault: " + (repetition == 1 ? span.label() : span.label() + ' ' + repetition),
                    new double[] {from, from, to, to},
                    new double[] {low, high, high, low});
            Charts.area(shade, XYSeriesRenderStyle.PolygonArea, SHADE);
            shade.setLineStyle(SeriesLines.NONE);
            shade.setShowInLegend(repetition == 1);
        }
        for (int i = 0; several && i < run.steps().size(); i++) {
            Step step = run.steps().get(i);
            double began = step.beganMillis() / 1000.0;
            double middle = (began + step.endedMillis() / 1000.0) / 2;
            chart.addAnnotation(new AnnotationLine(began, true, false));
            // Three heights keep the names of neighbouring steps apart.
            double height = valueAt(chart, low, high, 1.17 - 0.06 * (i % 3));
            chart.addAnnotation(new AnnotationText(step.label(), middle, height, false));
        }
    }

    /** The value at a share of the height of the scale. */
    private static double valueAt(XYChart chart, double low, double high, double share) {
        return chart.getStyler().isYAxisLogarithmic() ? low * Math.pow(high / low, share) : low + (high - low) * share;
    }
}
