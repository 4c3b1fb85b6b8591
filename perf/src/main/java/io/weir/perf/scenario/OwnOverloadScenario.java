package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.Processes;
import io.weir.perf.run.Processes.Role;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.Wrk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/**
 * The gateway has one core, and gets twice the requests that it can forward there, warm and just after its
 * start. The bound of its goodput follows from two rates of the same run: with r refusals for the cost of one
 * forwarded request, (r - 2)/(r - 1) of the peak is possible.
 *
 * <p>The callers are connections of h2load. Each sends at a fixed rate, and makes up for delays, but does not
 * send while its request is unanswered.
 */
record OwnOverloadScenario(Scenario.Options options) {

    private static final String PATH = "/mvc/1";
    private static final String GATEWAY_CORE = "0";
    private static final String LOAD_CORE = "1";
    private static final int PEAK_CONNECTIONS = 32;
    private static final int CALLERS = 500;
    private static final double GOODPUT = 0.9;
    private static final double P99_MILLIS = 200;
    private static final double REFUSAL_MILLIS = 50;

    PromiseTable run() throws Exception {
        Host.require("wrk nghttp2-client util-linux", "wrk", "h2load", "taskset");
        PromiseTable promises = new PromiseTable();
        try (LightBackend backend = LightBackend.answeringOk(request -> Mono.empty())) {
            double refusals = refusalsPerSecond(backend);
            double peak;
            Requests warm;
            try (Processes processes = Processes.unlimited()) {
                RunningServer gateway = start(processes, backend);
                wrk(processes, gateway, PEAK_CONNECTIONS, options.seconds(6, 15));
                peak = wrk(processes, gateway, PEAK_CONNECTIONS, options.seconds(3, 8))
                        .perSecond();
                warm = overload(processes, gateway, peak);
            }
            double cost = refusals / peak;
            double possible = Math.max(0, peak * (cost - 2) / (cost - 1));
            System.out.printf(
                    Locale.ROOT,
                    "forwards %.0f/s, or refuses %.0f/s: %.0f/s are possible at twice the peak%n",
                    peak,
                    refusals,
                    possible);
            judge("warm", warm, possible, promises);
            try (Processes processes = Processes.unlimited()) {
                judge("cold", overload(processes, start(processes, backend), peak), possible, promises);
            }
        }
        return promises;
    }

    /** A gateway whose loops are always above their limit refuses every request at its head. */
    private double refusalsPerSecond(LightBackend backend) throws Exception {
        try (Processes processes = Processes.unlimited()) {
            RunningServer gateway = start(
                    processes,
                    backend,
                    "--weir.overload.target-event-loop-delay=1ms",
                    "--weir.overload.max-event-loop-delay=1ms",
                    "--weir.overload.interval=10ms");
            wrk(processes, gateway, CALLERS, options.seconds(6, 15));
            Wrk measured = wrk(processes, gateway, CALLERS, options.seconds(3, 8));
            return measured.perSecond() * measured.refused() / measured.requests();
        }
    }

    private RunningServer start(Processes processes, LightBackend backend, String... properties) throws Exception {
        List<String> all = new ArrayList<>(options.properties(properties));
        all.add("--weir.backends.mvc.bulkhead.max-concurrent-calls=1000");
        RunningServer gateway = options.startGateway(
                processes, List.of("-XX:ActiveProcessorCount=1"), backend.port(), backend.port(), all);
        ManagedProcess process = gateway.process().orElseThrow();
        Host.firstLine("taskset", "-a", "-p", "-c", GATEWAY_CORE, Long.toString(process.pid()));
        return gateway;
    }

    private static Wrk wrk(Processes processes, RunningServer gateway, int connections, Duration time)
            throws InterruptedException {
        return Wrk.run(processes, List.of("taskset", "-c", LOAD_CORE), connections, time, gateway.url() + PATH);
    }

    /** Parses a line of h2load's log: the time of the request, its status, and its duration. */
    private static Request parse(String line) {
        String[] columns = line.split("\t", -1);
        if (columns.length != 3) {
            throw new IllegalArgumentException("h2load: \"" + line + "\" (expected: time, status and duration)");
        }
        String outcome = columns[1].equals("200") ? Request.SUCCESS : "status-" + columns[1];
        return new Request("", Long.parseLong(columns[0]) / 1000, Long.parseLong(columns[2]), PATH, outcome);
    }

    private Requests overload(Processes processes, RunningServer gateway, double peak)
            throws IOException, InterruptedException {
        Path log = processes.directory().resolve("requests.tsv");
        Duration time = options.seconds(6, 15);
        String command = String.format(
                Locale.ROOT,
                "taskset -c %s h2load --h1 -t1 -c%d --rps=%d -D%d --log-file=%s %s%s",
                LOAD_CORE,
                CALLERS,
                Math.max(1, Math.round(2 * peak / CALLERS)),
                time.toSeconds(),
                log,
                gateway.url(),
                PATH);
        processes.run(Role.GENERATOR, "h2load", List.of(command.split(" ", -1)), time.plusMinutes(1));
        try (Stream<String> lines = Files.lines(log)) {
            return new Requests(lines.map(OwnOverloadScenario::parse).toList());
        }
    }

    private void judge(String state, Requests answers, double possible, PromiseTable promises) {
        double seconds = options.seconds(6, 15).toSeconds();
        Requests answered = answers.successes();
        Requests refused = answers.where(one -> one.outcome().equals("status-503"));
        double goodput = answered.size() / seconds;
        promises.add(
                state + ": goodput",
                String.format(Locale.ROOT, "at least %.0f/s", GOODPUT * possible),
                String.format(Locale.ROOT, "%.0f/s of %.0f/s", goodput, answers.size() / seconds),
                goodput >= GOODPUT * possible);
        options.addLatency(promises, state + ": p99 of the answers", P99_MILLIS, answered.percentile(99));
        double median = refused.isEmpty() ? 0 : refused.percentile(50);
        options.addLatency(promises, state + ": median of the refusals", REFUSAL_MILLIS, median);
        int others = answers.size() - answered.size() - refused.size();
        promises.add(state + ": neither answered nor refused", "0", Integer.toString(others), others == 0);
    }
}
