package io.weir.perf.report;

import java.awt.Color;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.knowm.xchart.AnnotationLine;
import org.knowm.xchart.AnnotationText;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYSeries;
import org.knowm.xchart.style.lines.SeriesLines;

/** The plots of a run over time: its requests, what the gateway meters, and what the processes used. */
final class PlotsOverTime {

    private static final int REQUEST_NAMES_MAX = 8;
    private static final Color SHADE = new Color(90, 90, 110, 32);

    private final Run run;
    private final Charts charts;

    PlotsOverTime(Run run, Charts charts) {
        this.run = run;
        this.charts = charts;
    }

    void write() throws IOException {
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
        samples("cpu", "CPU", "% of a core", map(processes, PlotsOverTime::cpu));
        samples(
                "memory",
                "Resident memory",
                "MB",
                map(processes, samples -> points(samples, one -> one.rssBytes() / 1e6)));
        samples("connections", "Connections", "", map(processes, samples -> points(samples, Run.Sample::connections)));
        samples("threads", "Threads", "", map(processes, samples -> points(samples, Run.Sample::threads)));
    }

    private record Point(long at, double value) {}

    private static <T> Map<String, List<Point>> map(Map<String, List<T>> lists, Function<List<T>, List<Point>> what) {
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
        Map<String, double[]> tops = new LinkedHashMap<>();
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
        XYChart chart = chart(title, "1/s");
        double most = Arrays.stream(top).max().orElse(1);
        for (String outcome : List.copyOf(tops.keySet()).reversed()) {
            Color colour = colours.getOrDefault(outcome, Charts.QUIET);
            XYSeries series = chart.addSeries(outcome, buckets.seconds(), tops.getOrDefault(outcome, top));
            Charts.area(series, XYSeries.XYSeriesRenderStyle.StepArea, colour);
            // Its legend is a line.
            series.setLineWidth(3);
        }
        Charts.scale(chart.getStyler(), false, most);
        charts.save(withSteps(chart), "requests-" + name, title);
    }

    private void latencies(String name, List<Run.Request> requests) throws IOException {
        Buckets buckets = Buckets.of(run);
        Map<Integer, List<Run.Request>> byBucket =
                requests.stream().collect(Collectors.groupingBy(request -> buckets.of(request.at())));
        String title = "Latency of successes: " + name;
        XYChart chart = chart(title, "ms");
        double most = 1;
        for (int i = 0; i < Plots.PERCENTS.length; i++) {
            double[] values = new double[buckets.count()];
            for (int bucket = 0; bucket < values.length; bucket++) {
                Latencies latencies = Latencies.ofSuccesses(byBucket.getOrDefault(bucket, List.of()));
                values[bucket] = latencies.isEmpty()
                        ? Double.NaN
                        : Math.max(Charts.FLOOR_MS, latencies.percentile(Plots.PERCENTS[i]));
                most = Double.isNaN(values[bucket]) ? most : Math.max(most, values[bucket]);
            }
            if (Arrays.stream(values).allMatch(Double::isNaN)) {
                return;
            }
            Charts.line(chart, "p" + Plots.PERCENTS[i], buckets.seconds(), values, i);
        }
        Charts.scale(chart.getStyler(), true, most);
        charts.save(withSteps(chart), "latency-" + name, title);
    }

    private void inFlight(Map<String, List<Run.Request>> byName) throws IOException {
        Buckets buckets = Buckets.of(run);
        XYChart chart = chart("In flight, as callers see it", "requests");
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
            Charts.line(chart, named.getKey(), buckets.seconds(), values, index++);
        }
        Charts.scale(chart.getStyler(), false, most);
        charts.save(withSteps(chart), "in-flight", "In flight, as callers see it");
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
        XYChart chart = chart("Breaker state", "0 closed, 1 half-open, 2 open");
        int index = 0;
        for (Map.Entry<String, List<Point>> backend : states.entrySet()) {
            Charts.line(chart, backend.getKey(), seconds(backend.getValue()), values(backend.getValue()), index++)
                    .setXYSeriesRenderStyle(XYSeries.XYSeriesRenderStyle.Step);
        }
        Charts.scale(chart.getStyler(), false, 2);
        charts.save(withSteps(chart), "breaker", "Breaker state");
    }

    private static double level(String state) {
        return switch (state) {
            case "closed" -> 0;
            case "half-open", "half_open" -> 1;
            default -> 2;
        };
    }

    private void samples(String file, String title, String unit, Map<String, List<Point>> series) throws IOException {
        XYChart chart = chart(title, unit);
        double most = 0;
        int index = 0;
        for (Map.Entry<String, List<Point>> one : series.entrySet()) {
            if (!one.getValue().isEmpty()) {
                Charts.line(chart, one.getKey(), seconds(one.getValue()), values(one.getValue()), index);
                most = Math.max(
                        most,
                        one.getValue().stream().mapToDouble(Point::value).max().orElse(0));
            }
            index++;
        }
        if (most > 0) {
            Charts.scale(chart.getStyler(), false, most);
            charts.save(withSteps(chart), file, title);
        }
    }

    private static double[] seconds(List<Point> points) {
        return points.stream().mapToDouble(point -> point.at() / 1000.0).toArray();
    }

    private static double[] values(List<Point> points) {
        return points.stream().mapToDouble(Point::value).toArray();
    }

    private XYChart chart(String title, String unit) {
        XYChart chart = Charts.lines(title, "s", unit);
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
            Charts.area(shade, XYSeries.XYSeriesRenderStyle.PolygonArea, SHADE);
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
}
