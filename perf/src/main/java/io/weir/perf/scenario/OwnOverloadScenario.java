package io.weir.perf.scenario;

import io.weir.perf.LightBackend;
import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Host;
import io.weir.perf.run.ManagedProcess;
import io.weir.perf.run.OpenLoad;
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
import java.util.stream.Stream;
import reactor.core.publisher.Mono;

/**
 * The gateway has one core, and gets twice the requests that it can forward there, warm and just after its
 * start. The bound of its goodput follows from two rates of the same run, measured in the same state: with r
 * refusals for the cost of one forwarded request, (r - 2)/(r - 1) of the peak is possible.
 *
 * <p>The callers are connections of h2load. Each sends at a fixed rate, and makes up for delays, but does not
 * send while its request is unanswered. So there are many: 500 that wait for 50 ms each would send no more
 * than 10 000 requests a second. What they could not send in time they send later, as callers with patience
 * do.
 */
record OwnOverloadScenario(Scenario.Options options) {

    private static final String PATH = "/mvc/1";
    private static final String GATEWAY_CORE = "0";
    private static final String LOAD_CORE = "1";
    private static final List<String> ON_LOAD_CORE = List.of("taskset", "-c", LOAD_CORE);
    /** Enough for the highest rate of forwarded requests. */
    private static final int CONNECTIONS = 500;

    private static final int CALLERS = 3000;
    /** Of them, send critical calls. */
    private static final int CRITICAL_CALLERS = 300;

    private static final String CRITICAL = "critical";
    private static final int MOST_WARM_UPS = 8;
    /** A gateway whose loops are nearly always above their limit refuses most requests at their heads. */
    private static final String[] REFUSE_ALL = {
        "--weir.overload.target-event-loop-delay=1ms",
        "--weir.overload.max-event-loop-delay=1ms",
        "--weir.overload.interval=10ms"
    };

    /** A closed loop of that many callers, which keeps the loop above its target, is no overload here. */
    private static final String[] REFUSE_NOTHING = {
        "--weir.overload.target-event-loop-delay=1s",
        "--weir.overload.max-event-loop-delay=10s",
        "--weir.overload.interval=10s"
    };

    private static final double GOODPUT = 0.9;
    private static final double P99_MILLIS = 200;
    private static final double REFUSAL_MILLIS = 50;

    PromiseTable run() throws Exception {
        Host.require("wrk nghttp2-client util-linux", "wrk", "h2load", "taskset");
        // The backend's threads, too, stay away from the gateway's core.
        Host.firstLine(
                "taskset",
                "-a",
                "-p",
                "-c",
                LOAD_CORE,
                Long.toString(ProcessHandle.current().pid()));
        PromiseTable promises = new PromiseTable();
        try (LightBackend backend = LightBackend.answeringOk(request -> Mono.empty())) {
            overload("warm", options.quick() ? 2 : MOST_WARM_UPS, backend, promises);
            overload("cold", 0, backend, promises);
        }
        return promises;
    }

    /**
     * Measures both rates and then the overload, each on a gateway in the same state: after so many rounds of
     * warm-up, fewer if the rate is steady before, or just after its start.
     */
    private void overload(String state, int warmUps, LightBackend backend, PromiseTable promises) throws Exception {
        Wrk refusing;
        double peak;
        options.begin(Scenario.WARM_UP);
        try (Processes processes = Processes.unlimited()) {
            RunningServer gateway = start(processes, backend, REFUSE_ALL);
            warmUp(processes, gateway, warmUps);
            // With fewer, the loops would be in time for many of the requests.
            refusing = wrk(processes, gateway, CALLERS);
        }
        try (Processes processes = Processes.unlimited()) {
            RunningServer gateway = start(processes, backend, REFUSE_NOTHING);
            warmUp(processes, gateway, warmUps);
            Wrk measured = wrk(processes, gateway, CONNECTIONS);
            peak = measured.perSecond() * (measured.requests() - measured.refused()) / measured.requests();
        }
        // The gateway lets requests in at moments without a delay; the others had the rest of its time.
        double letIn = refusing.perSecond() * (refusing.requests() - refusing.refused()) / refusing.requests();
        double refusals = refusing.perSecond() * refusing.refused() / refusing.requests() / (1 - letIn / peak);
        double cost = refusals / peak;
        double possible = Math.max(0, peak * (cost - 2) / (cost - 1));
        System.out.printf(
                "%s: forwards %.0f/s, or refuses %.0f/s: %.0f/s are possible at twice the peak%n",
                state, peak, refusals, possible);
        try (Processes processes = Processes.unlimited()) {
            RunningServer gateway = start(processes, backend);
            warmUp(processes, gateway, warmUps);
            options.begin(state);
            judge(state, overload(processes, gateway, peak), possible, promises);
        }
    }

    private Duration time() {
        return options.seconds(6, 15);
    }

    private RunningServer start(Processes processes, LightBackend backend, String... properties) throws Exception {
        List<String> all = new ArrayList<>(options.properties(properties));
        all.addAll(List.of(
                "--weir.backends.mvc.bulkhead.max-concurrent-calls=1000",
                "--weir.edge.trusted-proxies=127.0.0.1",
                "--weir.edge.priority-header=X-Priority"));
        RunningServer gateway = options.startGateway(
                processes, List.of("-XX:ActiveProcessorCount=1"), backend.port(), backend.port(), all);
        ManagedProcess process = gateway.process().orElseThrow();
        Host.firstLine("taskset", "-a", "-p", "-c", GATEWAY_CORE, Long.toString(process.pid()));
        return gateway;
    }

    private void warmUp(Processes processes, RunningServer gateway, int rounds) throws InterruptedException {
        Wrk.warmUp(processes, ON_LOAD_CORE, CONNECTIONS, options.seconds(3, 10), rounds, gateway.url() + PATH);
    }

    private Wrk wrk(Processes processes, RunningServer gateway, int connections) throws InterruptedException {
        return Wrk.run(processes, ON_LOAD_CORE, connections, time(), gateway.url() + PATH);
    }

    private static Request parse(String name, String line) {
        String[] columns = line.split("\t", -1);
        if (columns.length != 3) {
            throw new IllegalArgumentException("h2load: \"" + line + "\" (expected: time, status and duration)");
        }
        String outcome = columns[1].equals("200") ? Request.SUCCESS : "status-" + columns[1];
        return new Request("", Long.parseLong(columns[0]) / 1000, Long.parseLong(columns[2]), name, outcome);
    }

    /** A tenth of the callers send critical calls. */
    private Requests overload(Processes processes, RunningServer gateway, double peak)
            throws IOException, InterruptedException {
        Path normal = processes.directory().resolve("normal.tsv");
        Path critical = processes.directory().resolve("critical.tsv");
        long rate = Math.max(1, Math.round(2 * peak / CALLERS));
        String both = h2load(gateway, rate, CALLERS - CRITICAL_CALLERS, "normal", normal) + " & "
                + h2load(gateway, rate, CRITICAL_CALLERS, CRITICAL, critical) + "; wait";
        processes.run(Role.GENERATOR, "h2load", List.of("sh", "-c", both), time().plusMinutes(1));
        Requests answers = Requests.of(List.of(read("normal", normal), read(CRITICAL, critical)));
        OpenLoad.record(answers);
        return answers;
    }

    private String h2load(RunningServer gateway, long rate, int callers, String priority, Path log) {
        return "taskset -c %s h2load --h1 -t1 -c%d --rps=%d -D%d -H 'X-Priority: %s' --log-file=%s %s%s"
                .formatted(LOAD_CORE, callers, rate, time().toSeconds(), priority, log, gateway.url(), PATH);
    }

    private static Requests read(String name, Path log) throws IOException {
        try (Stream<String> lines = Files.lines(log)) {
            return new Requests(lines.map(line -> parse(name, line)).toList());
        }
    }

    private void judge(String state, Requests answers, double possible, PromiseTable promises) {
        double seconds = time().toSeconds();
        Requests answered = answers.successes();
        Requests refused = answers.where(one -> one.outcome().equals("status-503"));
        double goodput = answered.size() / seconds;
        promises.add(
                state + ": goodput",
                "at least %.0f/s".formatted(GOODPUT * possible),
                "%.0f/s of %.0f/s".formatted(goodput, answers.size() / seconds),
                goodput >= GOODPUT * possible);
        options.addLatency(promises, state + ": p99 of the answers", P99_MILLIS, answered.percentile(99));
        double median = refused.isEmpty() ? 0 : refused.percentile(50);
        options.addLatency(promises, state + ": median of the refusals", REFUSAL_MILLIS, median);
        promises.atLeast(
                state + ": critical calls answered",
                options.quick() ? 95 : 99.9,
                answers.where(one -> one.name().equals(CRITICAL)).successPercent(),
                "%");
        int others = answers.size() - answered.size() - refused.size();
        promises.add(state + ": neither answered nor refused", "0", Integer.toString(others), others == 0);
    }
}
