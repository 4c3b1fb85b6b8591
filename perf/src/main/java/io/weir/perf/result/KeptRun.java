package io.weir.perf.result;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.weir.perf.result.RunResult.ProcessSample;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The files of a run in a kept set: all figures, and as much of the raw data as the plots need.
 *
 * <p>The requests of a small run are kept one by one. Those of a large one are kept in groups of the same
 * kind, time and latency, as coarse as the size demands; read again, a group is as many requests at even
 * distances. The figures of a page come from {@code figures.csv}, so they stay those of all requests.
 * Rejected alternative: every n-th request. Rates are lost, and so are the rare outcomes.
 */
public final class KeptRun {

    static final CsvTable<Figure> FIGURES = new CsvTable<>("figures.csv", Figure.class);
    static final CsvTable<RequestGroup> GROUPS = new CsvTable<>("request-groups.csv", RequestGroup.class);

    /** The size of the requests, compressed: a set of all experiments with their plots has 3 MB. */
    static final int MAX_REQUEST_BYTES = 12_000;

    static final int MAX_PROCESS_SAMPLES = 500;

    /** From fine to coarse. A plot has at most 300 points, so it shows no less than this. */
    private static final List<Grid> GRIDS = List.of(
            new Grid(250, .02),
            new Grid(250, .1),
            new Grid(500, .1),
            new Grid(1_000, .2),
            new Grid(2_000, .2),
            new Grid(5_000, .5),
            new Grid(10_000, .5),
            new Grid(30_000, 1));

    /** A figure of {@link RunFigures}. */
    record Figure(String name, double value) {}

    /**
     * Requests of the same kind, time and latency.
     *
     * @param atMillis the begin of the time in which they were sent
     * @param spanMillis the length of that time
     * @param micros their mean latency
     */
    record RequestGroup(
            String step,
            long atMillis,
            long spanMillis,
            long micros,
            @JsonProperty("request") String name,
            String outcome,
            long count) {

        RequestGroup {
            CsvTable.check(count > 0, "count", count, "1 or more");
        }

        Stream<Request> requests() {
            return IntStream.range(0, (int) count)
                    .mapToObj(i -> new Request(
                            step, atMillis + (2L * i + 1) * spanMillis / (2 * count), micros, name, outcome));
        }
    }

    /** What is the same for the requests of a group. */
    private record Cell(String step, String name, String outcome, long latency, long time) {}

    /**
     * The size of the groups.
     *
     * @param spanMillis a divisor of what a plot puts together
     * @param latency the relative width of a class of latencies
     */
    private record Grid(long spanMillis, double latency) {

        private Cell cell(Request request) {
            long step = Math.round(Math.log((double) Math.max(1, request.micros())) / Math.log1p(latency));
            return new Cell(request.step(), request.name(), request.outcome(), step, request.atMillis() / spanMillis);
        }

        /** The groups of sorted requests, in their order. */
        List<RequestGroup> group(List<Request> sorted) {
            Map<Cell, List<Request>> cells =
                    sorted.stream().collect(Collectors.groupingBy(this::cell, LinkedHashMap::new, Collectors.toList()));
            List<RequestGroup> groups = new ArrayList<>();
            cells.forEach((cell, same) -> groups.add(new RequestGroup(
                    cell.step,
                    cell.time * spanMillis,
                    spanMillis,
                    Math.round(
                            same.stream().mapToLong(Request::micros).average().orElseThrow()),
                    cell.name,
                    cell.outcome,
                    same.size())));
            return groups;
        }
    }

    private KeptRun() {}

    /**
     * Keeps the run in another directory: its figures, and as much of its raw data as its plots need,
     * compressed. Of the meters only those of breakers, which requests are plotted with. Gatling's reports
     * and the logs stay behind.
     */
    public static void write(RunResult run, Path to) throws IOException {
        Files.createDirectories(to);
        for (CsvTable<?> table : RunResult.COPIED) {
            table.copy(run.directory(), to);
        }
        Files.copy(run.directory().resolve(RunResult.PROPERTIES), to.resolve(RunResult.PROPERTIES));
        FIGURES.compress(to, RunFigures.of(run).all());
        RunResult.PROCESSES.compress(to, thin(run.processes()));
        RunResult.METERS.compress(
                to,
                run.meters().stream()
                        .filter(meter -> meter.meter().equals("weir_breaker_state"))
                        .toList());
        if (RunResult.REQUESTS.compress(to, run.requests().all()) <= MAX_REQUEST_BYTES) {
            return;
        }
        Files.delete(to.resolve(RunResult.REQUESTS.file() + ".gz"));
        List<Request> sorted = run.requests().stream()
                .sorted(Comparator.comparing(Request::step)
                        .thenComparing(Request::name)
                        .thenComparing(Request::outcome)
                        .thenComparingLong(Request::atMillis))
                .toList();
        for (Grid grid : GRIDS) {
            if (GROUPS.compress(to, grid.group(sorted)) <= MAX_REQUEST_BYTES) {
                return;
            }
        }
    }

    /** Every n-th sample of each process, and the last one. */
    private static List<ProcessSample> thin(Collection<ProcessSample> samples) {
        int every = samples.size() / MAX_PROCESS_SAMPLES + 1;
        return samples.stream().collect(Collectors.groupingBy(ProcessSample::process)).values().stream()
                .flatMap(own -> IntStream.range(0, own.size())
                        .filter(i -> i % every == 0 || i == own.size() - 1)
                        .mapToObj(own::get))
                .sorted(Comparator.comparingLong(ProcessSample::atMillis).thenComparing(ProcessSample::process))
                .toList();
    }
}
