package io.weir.limit;

import io.weir.limit.LimitSimulation.Kind;
import io.weir.limit.LimitSimulation.Phase;
import io.weir.limit.LimitSimulation.Result;
import io.weir.limit.LimitSimulation.Service;
import io.weir.limit.LimitSimulation.Setup;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;

/**
 * The adaptive limit against the best fixed one, over kinds of backends: 6 s at 0.75 times the capacity, 15 s
 * at 4 times, 12 s at 0.75 times; shorter in proportion above 3000 calls/s, down to a tenth. The best fixed
 * limit is the best of 1, 1.2, 1.5 and 2 calls for each worker, with the same queue.
 */
final class LimitGrid {

    /** Seeds that were not used for fitting. */
    static final List<Long> SEEDS = List.of(20_240L, 21_240L, 22_240L);

    static final long SEED = SEEDS.getFirst();

    private static final List<Service> SERVICES =
            List.of(Service.DETERMINISTIC, Service.EXPONENTIAL, Service.BIMODAL, Service.LOGNORMAL);

    /**
     * One backend.
     *
     * @param kind its behaviour when it has more calls than workers
     * @param workers calls that it works on at once
     * @param service mean time of one call, in seconds
     */
    record Cell(Kind kind, int workers, double service, Service distribution) {

        /** Whether the limit must do well here. */
        boolean isAsserted() {
            return workers >= 10 && kind != Kind.COLLAPSE;
        }

        Setup setup(long seed) {
            double capacity = workers / service;
            double length = Math.clamp(3000 / capacity, .1, 1);
            return new Setup()
                    .backend(kind, workers, service, distribution)
                    .phases(
                            new Phase(6 * length, .75 * capacity),
                            new Phase(15 * length, 4 * capacity),
                            new Phase(12 * length, .75 * capacity))
                    .seed(seed);
        }
    }

    /**
     * The result of a cell, divided by that of the best fixed limit: medians of all seeds.
     *
     * @param overload goodput in the overload
     * @param after answers to the calls after the overload
     * @param calmRefused the share of the calls refused before and after the overload, less that of the fixed
     *     limit
     * @param latency the backend's latency in the overload
     * @param meanLimit the limit's mean in the overload
     * @param bestFixed the best fixed limit
     */
    record Row(
            Cell cell,
            double overload,
            double after,
            double calmRefused,
            double latency,
            double meanLimit,
            int bestFixed) {}

    private LimitGrid() {}

    /**
     * Whether the whole grid runs: {@code -Dgrid=full}, or {@code -Dgrid=write}, which also writes the page.
     */
    static boolean isFull() {
        return System.getProperty("grid") != null;
    }

    static boolean isWritten() {
        return "write".equals(System.getProperty("grid"));
    }

    static List<Cell> all() {
        return cells(List.of(1, 4, 10, 64, 300), List.of(.002, .02, .05, .2), SERVICES);
    }

    /** A part of the grid, which takes a few seconds. */
    static List<Cell> part() {
        return cells(List.of(10, 64), List.of(.02, .2), List.of(Service.DETERMINISTIC, Service.EXPONENTIAL)).stream()
                .filter(cell -> cell.isAsserted() || cell.workers == 10)
                .toList();
    }

    private static List<Cell> cells(List<Integer> workers, List<Double> services, List<Service> distributions) {
        List<Cell> cells = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            for (int each : workers) {
                for (double service : services) {
                    for (Service distribution : distributions) {
                        cells.add(new Cell(kind, each, service, distribution));
                    }
                }
            }
        }
        return cells;
    }

    /** The medians of all seeds; the best fixed limit is that of the first one. */
    static Row measure(Cell cell) {
        int bestFixed = bestFixed(cell);
        List<Row> rows =
                SEEDS.stream().map(seed -> measure(cell, bestFixed, seed)).toList();
        return new Row(
                cell,
                median(rows, Row::overload),
                median(rows, Row::after),
                median(rows, Row::calmRefused),
                median(rows, Row::latency),
                median(rows, Row::meanLimit),
                bestFixed);
    }

    private static double median(List<Row> rows, ToDoubleFunction<Row> figure) {
        return rows.stream().mapToDouble(figure).sorted().toArray()[rows.size() / 2];
    }

    private static int bestFixed(Cell cell) {
        TreeSet<Integer> candidates = new TreeSet<>();
        for (double factor : new double[] {1, 1.2, 1.5, 2}) {
            candidates.add((int) Math.ceil(cell.workers * factor));
        }
        int best = 0;
        double most = 0;
        for (int candidate : candidates) {
            double goodput = goodput(
                    cell.setup(SEED).limit(LimitSimulation.fixed(candidate)).run());
            if (best == 0 || goodput > 1.003 * most) {
                most = goodput;
                best = candidate;
            }
        }
        return best;
    }

    private static Row measure(Cell cell, int bestFixed, long seed) {
        LimitSimulation oracle =
                cell.setup(seed).limit(LimitSimulation.fixed(bestFixed)).run();
        LimitSimulation adaptive = cell.setup(seed).limit(LimitCases.adaptive()).run();
        return new Row(
                cell,
                goodput(adaptive) / Math.max(1, goodput(oracle)),
                (double) adaptive.results.get(2).answered / Math.max(1, oracle.results.get(2).answered),
                calmRefused(adaptive) - calmRefused(oracle),
                adaptive.results.get(1).meanBackendLatency()
                        / oracle.results.get(1).meanBackendLatency(),
                adaptive.results.get(1).meanLimit(),
                bestFixed);
    }

    private static double goodput(LimitSimulation simulation) {
        return simulation.results.get(1).goodput;
    }

    private static double calmRefused(LimitSimulation simulation) {
        Result before = simulation.results.get(0);
        Result after = simulation.results.get(2);
        return (double) (before.refused + before.failed + after.refused + after.failed)
                / Math.max(1, before.offered + after.offered);
    }

    /** A line for each group of cells. */
    static String summary(List<Row> rows) {
        StringBuilder text = new StringBuilder();
        text.append(
                "| cells | number | overload: mean | worst | after: mean | worst | refused when calm | latency |\n");
        text.append("|---|---|---|---|---|---|---|---|\n");
        text.append(line(
                "at least 10 workers, no collapse",
                rows.stream().filter(row -> row.cell.isAsserted()).toList()));
        for (Kind kind : Kind.values()) {
            text.append(line(
                    "at least 10 workers, " + name(kind),
                    rows.stream()
                            .filter(row -> row.cell.workers >= 10 && row.cell.kind == kind)
                            .toList()));
        }
        for (int workers : new int[] {1, 4}) {
            text.append(line(
                    workers + (workers == 1 ? " worker" : " workers") + ", no collapse",
                    rows.stream()
                            .filter(row -> row.cell.workers == workers && row.cell.kind != Kind.COLLAPSE)
                            .toList()));
            text.append(line(
                    workers + (workers == 1 ? " worker" : " workers") + ", collapse",
                    rows.stream()
                            .filter(row -> row.cell.workers == workers && row.cell.kind == Kind.COLLAPSE)
                            .toList()));
        }
        return text.toString();
    }

    private static String line(String name, List<Row> rows) {
        if (rows.isEmpty()) {
            return "";
        }
        return String.format(
                Locale.ROOT,
                "| %s | %d | %.3f | %.2f | %.3f | %.2f | %.1f %% | %.2f |%n",
                name,
                rows.size(),
                rows.stream().mapToDouble(Row::overload).average().orElse(0),
                rows.stream().mapToDouble(Row::overload).min().orElse(0),
                rows.stream().mapToDouble(Row::after).average().orElse(0),
                rows.stream().mapToDouble(Row::after).min().orElse(0),
                100 * rows.stream().mapToDouble(Row::calmRefused).average().orElse(0),
                rows.stream()
                        .mapToDouble(Row::latency)
                        .filter(Double::isFinite)
                        .average()
                        .orElse(0));
    }

    /** A table of all cells of one kind. */
    static String table(Kind kind, List<Row> rows) {
        StringBuilder text = new StringBuilder("| workers x service |");
        for (Service service : SERVICES) {
            text.append(' ').append(service.name().toLowerCase(Locale.ROOT)).append(" |");
        }
        text.append("\n|---|---|---|---|---|\n");
        String last = "";
        for (Row row : rows) {
            if (row.cell.kind == kind) {
                String name = "%d x %.0f ms".formatted(row.cell.workers, 1e3 * row.cell.service);
                if (!name.equals(last)) {
                    text.append(last.isEmpty() ? "" : "\n")
                            .append("| ")
                            .append(name)
                            .append(" |");
                    last = name;
                }
                text.append(
                        String.format(Locale.ROOT, " %.2f (%.0f / %d) |", row.overload, row.meanLimit, row.bestFixed));
            }
        }
        return text.append('\n').toString();
    }

    static String name(Kind kind) {
        return switch (kind) {
            case FIFO -> "unbounded queue";
            case BOUNDED -> "bounded queue with 503";
            case SHARING -> "processor sharing";
            case COLLAPSE -> "collapse";
        };
    }
}
