package io.weir.perf.report;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.ShadedSpan;
import io.weir.perf.result.RunResult.Step;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.knowm.xchart.XYChart;

/**
 * The outcomes of a run's fronts as panels one below the other, on the same axes, with a column for each name
 * of a request. Faults are shaded, and say how many of their requests were answered.
 */
record PanelPlot(RunResult run, Charts charts) {

    private static final int MAX_WIDTH = Charts.WIDTH * 2;
    private static final int MAX_PANEL_WIDTH = Charts.WIDTH * 2 / 3;
    private static final int HEIGHT = Charts.HEIGHT * 2 / 3;

    void write() throws IOException {
        Set<String> shown = run.steps().stream()
                .filter(step -> run.panels().stream().anyMatch(front -> isOf(step, front)))
                .map(Step::id)
                .collect(Collectors.toSet());
        Set<String> names = run.requests()
                .where(one -> shown.contains(one.step()))
                .by(Request::name)
                .keySet();
        int width = Math.min(MAX_PANEL_WIDTH, MAX_WIDTH / Math.max(1, names.size()));
        List<XYChart> panels = new ArrayList<>();
        for (String front : run.panels()) {
            names.forEach(name -> panels.add(panel(front, name, width)));
        }
        for (int column = 0; column < names.size(); column++) {
            useSameAxes(panels, column, names.size());
        }
        if (!panels.isEmpty()) {
            charts.save(
                    panels, names.size(), "panels", "Requests by outcome: green answered, amber refused, red failed");
        }
    }

    private static boolean isOf(Step step, String front) {
        return step.label().startsWith(front + ": ");
    }

    /** The requests of a name in the steps of a front, the first of which begins at 0. */
    private XYChart panel(String front, String name, int width) {
        List<Step> own = run.steps().stream().filter(step -> isOf(step, front)).toList();
        Set<String> ids = own.stream().map(Step::id).collect(Collectors.toSet());
        long began = own.stream().mapToLong(Step::beganMillis).min().orElse(0);
        Requests requests = new Requests(run.requests().stream()
                .filter(one -> ids.contains(one.step()) && one.name().equals(name))
                .map(one -> one.later(-began))
                .toList());
        List<Step> faults = new ArrayList<>();
        List<ShadedSpan> spans = new ArrayList<>();
        for (ShadedSpan span : run.spans()) {
            if (ids.contains(span.step())) {
                long from = span.fromMillis() - began;
                long to = span.toMillis() - began;
                double answered = requests.sentBetween(from, to).successPercent();
                String text = "%s %.0f %%".formatted(span.label(), answered);
                faults.add(new Step(span.step(), text, "", from, to, text));
                spans.add(new ShadedSpan(span.step(), span.label(), from, to));
            }
        }
        RunResult part = run.part(faults, requests, spans);
        XYChart panel = new TimePlots(part, charts).outcomes(front + ", " + name, requests, width, HEIGHT);
        panel.getStyler().setLegendVisible(false);
        return panel;
    }

    private static void useSameAxes(List<XYChart> panels, int column, int columns) {
        List<XYChart> same = IntStream.iterate(column, i -> i < panels.size(), i -> i + columns)
                .mapToObj(panels::get)
                .toList();
        double seconds = same.stream()
                .mapToDouble(panel -> panel.getStyler().getXAxisMax())
                .max()
                .orElse(0);
        double most = same.stream()
                .mapToDouble(panel -> panel.getStyler().getYAxisMax())
                .max()
                .orElse(0);
        same.forEach(panel -> panel.getStyler().setYAxisMax(most).setXAxisMax(seconds));
    }
}
