package io.weir.perf.report;

import static java.util.stream.Collectors.collectingAndThen;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toList;

import io.weir.perf.report.Charts.Point;
import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.MeterSample;
import io.weir.perf.result.RunResult.ProcessSample;
import io.weir.perf.result.RunResult.ShadedSpan;
import io.weir.perf.result.RunResult.Step;
import java.awt.Color;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntToDoubleFunction;
import java.util.function.ToDoubleFunction;
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
    private static final String BREAKER = "weir_breaker_state";
    private static final Color SHADE = new Color(90, 90, 110, 32);
    private static final int[] BUCKET_MILLIS = {250, 500, 1000, 2000, 5000, 10_000, 30_000};
    private static final int MAX_BUCKETS = 300;
    private static final Requests NONE = new Requests(List.of());

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
        plotRequests();
        plotMeters();
        plotProcesses();
    }

    private static <T, R> Map<String, List<R>> group(List<T> all, Function<T, String> name, Function<T, R> value) {
        return all.stream().collect(groupingBy(name, TreeMap::new, mapping(value, toList())));
    }

    private void plotRequests() throws IOException {
        Map<String, Requests> byName = run.requests().by(Request::name);
        if (byName.size() > MAX_REQUEST_NAMES) {
            byName = Map.of("all requests", run.requests());
        }
        Map<String, List<Point>> inFlight = new TreeMap<>();
        for (Map.Entry<String, Requests> named : byName.entrySet()) {
            // Panels show the outcomes of each front.
            if (run.panels().isEmpty()) {
                plotOutcomes(named.getKey(), named.getValue());
            }
            plotLatencies(named.getKey(), named.getValue());
            inFlight.put(named.getKey(), inFlight(named.getValue()));
        }
        plot("in-flight", "Requests in flight at the callers", "requests", inFlight);
    }

    private void plotMeters() throws IOException {
        Map<String, List<MeterSample>> meters = group(run.meters(), MeterSample::meter, Function.identity());
        List<MeterSample> breakers = meters.getOrDefault(BREAKER, List.of()).stream()
                .filter(state -> state.value() > 0)
                .toList();
        Map<String, List<Point>> states = group(
                breakers,
                one -> one.labelsByName().getOrDefault("backend", "?"),
                one -> new Point(one.atMillis() / 1000.0, breakerLevel(one)));
        plot("breaker", "Breaker state", "0 closed, 1 half-open, 2 open", states, false, XYSeriesRenderStyle.Step);
        meters.remove(BREAKER);
        for (Map.Entry<String, List<MeterSample>> meter : meters.entrySet()) {
            String name = meter.getKey();
            Map<String, List<Point>> lines = group(
                    meter.getValue(),
                    one -> one.labels().isEmpty()
                            ? name
                            : String.join(" ", one.labelsByName().values()),
                    one -> new Point(one.atMillis() / 1000.0, one.value()));
            plot(name, name, "", lines);
        }
    }

    private static int breakerLevel(MeterSample state) {
        return switch (state.labelsByName().getOrDefault("state", "")) {
            case "closed" -> 0;
            case "half-open", "half_open" -> 1;
            default -> 2;
        };
    }

    private void plotProcesses() throws IOException {
        Map<String, List<ProcessSample>> samples = run.processesUnderTest();
        Map<String, List<Point>> cpu = new TreeMap<>();
        samples.forEach((name, ofProcess) -> cpu.put(name, cpuPercent(ofProcess)));
        plot("cpu", "CPU", "% of a core", cpu);
        plot("memory", "Resident memory", "MB", points(samples, one -> one.rssBytes() / 1e6));
        plot("connections", "Connections", "", points(samples, ProcessSample::connections));
        plot("threads", "Threads", "", points(samples, ProcessSample::threads));
    }

    private static Map<String, List<Point>> points(
            Map<String, List<ProcessSample>> samples, ToDoubleFunction<ProcessSample> value) {
        Map<String, List<Point>> lines = new TreeMap<>();
        samples.forEach((name, ofProcess) -> lines.put(
                name,
                ofProcess.stream()
                        .map(one -> new Point(one.atMillis() / 1000.0, value.applyAsDouble(one)))
                        .toList()));
        return lines;
    }

    /** Between consecutive samples. The CPU time of a restarted process begins again at 0. */
    private static List<Point> cpuPercent(List<ProcessSample> samples) {
        return IntStream.range(1, samples.size())
                .mapToObj(i -> {
                    long micros =
                            samples.get(i).cpuMicros() - samples.get(i - 1).cpuMicros();
                    long millis = samples.get(i).atMillis() - samples.get(i - 1).atMillis();
                    return new Point(samples.get(i).atMillis() / 1000.0, micros / 10.0 / millis);
                })
                .filter(point -> Double.isFinite(point.y()) && point.y() >= 0)
                .toList();
    }

    private void plotOutcomes(String name, Requests requests) throws IOException {
        String title = "Requests by outcome: " + name;
        charts.save(outcomes(title, requests, Charts.WIDTH, Charts.HEIGHT), "requests-" + name, title);
    }

    /** The requests per second, by outcome, one outcome above the other. */
    XYChart outcomes(String title, Requests requests, int width, int height) {
        Map<String, Requests> byOutcome = requests.by(Request::outcome);
        Map<String, Color> colours = OutcomeKind.colours(byOutcome.keySet());
        LinkedHashMap<String, List<Point>> stacked = new LinkedHashMap<>();
        double[] top = new double[buckets];
        for (String outcome : colours.keySet()) {
            byOutcome
                    .getOrDefault(outcome, NONE)
                    .forEach(request -> top[bucket(request.atMillis())] += 1000.0 / bucketMillis);
            stacked.put(outcome, perBucket(i -> top[i]));
        }
        XYChart chart = chart(title, "1/s", width, height);
        // The highest area is drawn first, so that the lower ones cover it.
        stacked.reversed().forEach((outcome, points) -> {
            XYSeries series = Charts.line(chart, outcome, points, false);
            Charts.area(series, XYSeriesRenderStyle.StepArea, colours.getOrDefault(outcome, Color.GRAY));
            // The legend shows the line.
            series.setLineWidth(3);
        });
        scaleAndAnnotate(chart, stacked, false);
        return chart;
    }

    private void plotLatencies(String name, Requests requests) throws IOException {
        Map<Integer, Requests> byBucket = requests.successes().stream()
                .collect(groupingBy(request -> bucket(request.atMillis()), collectingAndThen(toList(), Requests::new)));
        Map<String, List<Point>> lines = new LinkedHashMap<>();
        for (String percentile : PERCENTILES) {
            double percent = Double.parseDouble(percentile.substring(1));
            lines.put(percentile, perBucket(i -> byBucket.getOrDefault(i, NONE).percentile(percent)));
        }
        plot("latency-" + name, "Latency of successes: " + name, "ms", lines, true, XYSeriesRenderStyle.Line);
    }

    /** The time of all requests in each bucket, as a multiple of the bucket. */
    private List<Point> inFlight(Requests requests) {
        double[] values = new double[buckets];
        for (Request request : requests) {
            for (int i = bucket(request.atMillis()); i <= bucket((long) request.endMillis()); i++) {
                double from = Math.max((double) request.atMillis(), (double) i * bucketMillis);
                double to = Math.min(request.endMillis(), (i + 1.0) * bucketMillis);
                values[i] += Math.max(0, to - from) / bucketMillis;
            }
        }
        return perBucket(i -> values[i]);
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
        XYChart chart = chart(title, unit, Charts.WIDTH, Charts.HEIGHT);
        lines.forEach((name, points) -> {
            if (!points.isEmpty()) {
                Charts.line(chart, name, points, logarithmic).setXYSeriesRenderStyle(style);
            }
        });
        scaleAndAnnotate(chart, lines, logarithmic);
        charts.save(chart, file, title);
    }

    private XYChart chart(String title, String unit, int width, int height) {
        XYChart chart = Charts.lines(title, "s", unit, width, height);
        chart.getStyler().setXAxisMin(0.0).setXAxisMax((double) buckets * bucketMillis / 1000);
        return chart;
    }

    private void scaleAndAnnotate(XYChart chart, Map<String, List<Point>> lines, boolean logarithmic) {
        Charts.scale(chart.getStyler(), Charts.max(lines.values()), logarithmic);
        annotateSteps(chart);
    }

    /** Shades the spans and names the steps. */
    private void annotateSteps(XYChart chart) {
        double low = chart.getStyler().getYAxisMin();
        double high = chart.getStyler().getYAxisMax();
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
        List<Step> steps = run.steps();
        // The page names the only step of a run; the steps of a panel are its faults.
        if (steps.size() == 1
                && run.spans().stream()
                        .noneMatch(span -> span.fromMillis() == steps.getFirst().beganMillis())) {
            return;
        }
        // Space for the names of the steps.
        chart.getStyler().setYAxisMax(valueAt(chart, low, high, 1.2));
        for (int i = 0; i < steps.size(); i++) {
            Step step = steps.get(i);
            double began = step.beganMillis() / 1000.0;
            chart.addAnnotation(new AnnotationLine(began, true, false));
            // Three heights keep the names of neighbouring steps apart.
            double height = valueAt(chart, low, high, 1.17 - 0.06 * (i % 3));
            chart.addAnnotation(new AnnotationText(step.label(), began + step.seconds() / 2, height, false));
        }
    }

    /** The value at a share of the height of the scale. */
    private static double valueAt(XYChart chart, double low, double high, double share) {
        return chart.getStyler().isYAxisLogarithmic() ? low * Math.pow(high / low, share) : low + (high - low) * share;
    }
}
