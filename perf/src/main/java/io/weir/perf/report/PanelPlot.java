package io.weir.perf.report;

import io.weir.perf.result.OutcomeKind;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.result.RunResult.ShadedSpan;
import io.weir.perf.result.RunResult.Step;
import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The outcomes of a run's fronts as panels one below the other, on the same axes, with a column for each kind
 * of request. Faults are shaded, and say how many of their requests were answered.
 */
final class PanelPlot {

    private static final int HEADER = 64;
    private static final int PANEL = 104;
    private static final int LEFT = 100;
    private static final int GAP = 16;
    private static final int FOOT = 30;
    private static final int BUCKET_MILLIS = 500;
    private static final int MAX_LONG_TITLES = 3;
    private static final Color SHADE = new Color(222, 222, 228);
    private static final Color TEXT = new Color(0x1a1f26);

    private final RunResult run;
    private final Map<String, Requests> columns;
    private final Graphics2D ink;
    private final int width;
    private final long millis;

    /** A front, and the time of its steps. */
    private record Front(String name, Set<String> steps, long fromMillis, long toMillis) {

        static Front of(String name, RunResult run) {
            List<Step> own = run.steps().stream()
                    .filter(step -> step.label().startsWith(name + ": "))
                    .toList();
            return new Front(
                    name,
                    own.stream().map(Step::id).collect(Collectors.toSet()),
                    own.stream().mapToLong(Step::beganMillis).min().orElse(0),
                    own.stream().mapToLong(Step::endedMillis).max().orElse(0));
        }
    }

    private PanelPlot(RunResult run, Map<String, Requests> columns, Graphics2D ink, long millis) {
        this.run = run;
        this.columns = columns;
        this.ink = ink;
        this.width = (Charts.WIDTH - LEFT) / columns.size() - GAP;
        this.millis = millis;
    }

    static void write(RunResult run, Charts charts) throws IOException {
        List<Front> fronts =
                run.panels().stream().map(name -> Front.of(name, run)).toList();
        Set<String> shown =
                fronts.stream().flatMap(front -> front.steps.stream()).collect(Collectors.toSet());
        Map<String, Requests> columns = new TreeMap<>(
                run.requests().where(one -> shown.contains(one.step())).by(Request::name));
        long millis = fronts.stream()
                .mapToLong(front -> front.toMillis - front.fromMillis)
                .max()
                .orElse(0);
        if (columns.isEmpty() || millis == 0) {
            return;
        }
        int height = HEADER + PANEL * fronts.size() + FOOT;
        BufferedImage image = new BufferedImage(Charts.WIDTH, height, BufferedImage.TYPE_INT_RGB);
        Graphics2D ink = image.createGraphics();
        try {
            ink.setColor(Color.WHITE);
            ink.fillRect(0, 0, Charts.WIDTH, height);
            ink.setRenderingHint(RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
            new PanelPlot(run, columns, ink, millis).draw(fronts, height);
        } finally {
            ink.dispose();
        }
        charts.save(image, "panels", "Requests by outcome: green answered, amber refused, red failed");
    }

    private void draw(List<Front> fronts, int height) {
        int left = LEFT;
        for (Map.Entry<String, Requests> column : columns.entrySet()) {
            Requests requests = column.getValue();
            double most = mostPerBucket(fronts, requests);
            String unit = columns.size() > MAX_LONG_TITLES ? "" : ", requests";
            text(
                    column.getKey() + unit + ", up to " + Math.round(most * 1000 / BUCKET_MILLIS) + "/s",
                    left,
                    18,
                    Font.BOLD);
            for (int row = 0; row < fronts.size(); row++) {
                int bottom = HEADER + PANEL * (row + 1) - GAP;
                drawPanel(fronts.get(row), requests, most, left, bottom, row == 0);
                text(fronts.get(row).name(), 8, bottom - PANEL / 2 + GAP, Font.BOLD);
            }
            for (long second = 0; second <= millis / 1000; second += 30) {
                text(second + " s", left + x(1000 * second), height - 10, Font.PLAIN);
            }
            left += width + GAP;
        }
    }

    private int x(long sinceMillis) {
        return (int) (sinceMillis * width / millis);
    }

    private void text(String text, int x, int y, int style) {
        ink.setColor(TEXT);
        ink.setFont(new Font(Font.SANS_SERIF, style, 12));
        ink.drawString(text, x, y);
    }

    private static int bucket(Front front, Request request) {
        return (int) ((request.atMillis() - front.fromMillis) / BUCKET_MILLIS);
    }

    private static Requests of(Front front, Requests requests) {
        return requests.where(one -> front.steps.contains(one.step()));
    }

    private static double mostPerBucket(List<Front> fronts, Requests requests) {
        return fronts.stream()
                .flatMap(front -> of(front, requests).stream()
                        .collect(Collectors.groupingBy(one -> bucket(front, one), Collectors.counting()))
                        .values()
                        .stream())
                .mapToLong(Long::longValue)
                .max()
                .orElse(1);
    }

    private void drawPanel(Front front, Requests requests, double most, int left, int bottom, boolean first) {
        int high = PANEL - 2 * GAP;
        List<ShadedSpan> faults = run.spans().stream()
                .filter(span -> front.steps.contains(span.step()))
                .toList();
        ink.setColor(SHADE);
        for (ShadedSpan fault : faults) {
            int from = x(fault.fromMillis() - front.fromMillis);
            ink.fillRect(left + from, bottom - high - GAP, x(fault.toMillis() - front.fromMillis) - from, high + GAP);
        }
        Map<Integer, Map<OutcomeKind, Long>> buckets = of(front, requests).stream()
                .collect(Collectors.groupingBy(
                        one -> bucket(front, one),
                        Collectors.groupingBy(
                                one -> OutcomeKind.of(one.outcome()), TreeMap::new, Collectors.counting())));
        buckets.forEach((bucket, kinds) -> {
            int from = x((long) bucket * BUCKET_MILLIS);
            int wide = Math.max(1, x((bucket + 1L) * BUCKET_MILLIS) - from);
            double below = 0;
            for (Map.Entry<OutcomeKind, Long> kind : kinds.entrySet()) {
                int low = (int) Math.round(below * high / most);
                below += kind.getValue();
                int top = (int) Math.round(below * high / most);
                ink.setColor(kind.getKey().colour());
                ink.fillRect(left + from, bottom - top, wide, top - low);
            }
        });
        ink.setColor(TEXT);
        ink.drawLine(left, bottom, left + width, bottom);
        for (ShadedSpan fault : faults) {
            int from = left + x(fault.fromMillis() - front.fromMillis);
            double answered =
                    requests.sentBetween(fault.fromMillis(), fault.toMillis()).successPercent();
            text(String.format(Locale.ROOT, "%.0f %%", answered), from, bottom - high - 4, Font.PLAIN);
            if (first) {
                text(fault.label(), from, HEADER - GAP - 8, Font.PLAIN);
            }
        }
    }
}
