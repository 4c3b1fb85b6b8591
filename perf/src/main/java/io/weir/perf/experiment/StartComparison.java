package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.Host;
import io.weir.perf.run.PeerProxy;
import io.weir.perf.run.PeerProxy.Places;
import io.weir.perf.run.RateRounds;
import io.weir.perf.run.Wrk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares starts on one core.
 *
 * <ul>
 *   <li>Processor time from the start of the process to its readiness. It depends little on other work of
 *       the machine. Programs alternate in rounds; a ratio is the median of the ratios within a round.
 *   <li>First requests: 500 per second from readiness on, whatever the answers are.
 *   <li>Ramp: as many requests as 32 connections can send from readiness on, second by second, compared with
 *       the rate after a warm-up.
 * </ul>
 *
 * <p>Weir and the plain gateway start in two ways: from the jar of jars, and from the extracted jar with an
 * AOT cache. With the cache, both have the options of a release and the collector that Java chooses on one
 * core. Weir also starts from the extracted jar with one route, and with 10 000 routes to 1000 backends.
 */
@Measures(
        name = "start",
        question = "a start on one core: processor time to readiness, first requests at 500/s, seconds to the peak?",
        quickMinutes = 12,
        fullMinutes = 25,
        cpus = 1)
final class StartComparison extends Experiment {

    private static final String GATEWAY_JAR = "gateway/target/weir-gateway.jar";
    private static final String PERF_JAR = "perf/target/weir-perf.jar";
    private static final String WEIR = "weir";
    private static final String WEIR_JAR = "weir-jar";
    private static final String PLAIN = "plain-gateway";
    private static final String PLAIN_JAR = "plain-gateway-jar";
    private static final String ONE_ROUTE = "weir-1-route";
    private static final String MANY_ROUTES = "weir-10000-routes";
    private static final int RATE = 500;
    private static final List<PeerProxy> PEERS = List.of(PeerProxy.HAPROXY, PeerProxy.ENVOY);

    @Override
    public List<String> missingTools() {
        return Stream.concat(Wrk.missing("the ramp"), PeerProxy.missing(PEERS)).toList();
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        boolean quick = context.quick();
        missingTools().forEach(context::note);
        try (PeerBackends backends = PeerBackends.start(context)) {
            List<StartProgram> programs = programs(backends.served(), quick, context);
            describe(programs, context);
            warmUpLoad(backends.served(), context);
            measureStarts(programs, quick ? 3 : 5, backends, context);
            for (StartProgram program : programs) {
                if (program.label().equals(ONE_ROUTE) || program.label().equals(MANY_ROUTES)) {
                    continue;
                }
                StartMeasurement first = start(program, backends, context);
                first.measureFirstRequests(RATE, Duration.ofSeconds(quick ? 15 : 30), context);
                context.processes().stop(first.process());
                if (Host.has(Wrk.PROGRAM)) {
                    StartMeasurement ramp = start(program, backends, context);
                    ramp.measureRamp(20, quick ? 20 : 60, quick ? 5 : 10, context);
                    context.processes().stop(ramp.process());
                }
            }
        }
    }

    private static StartMeasurement start(StartProgram program, PeerBackends backends, ExperimentContext context)
            throws InterruptedException {
        return StartMeasurement.of(program, backends.places(backends.served()), context);
    }

    private static List<StartProgram> programs(int served, boolean quick, ExperimentContext context)
            throws InterruptedException {
        Path gateway = StartProgram.extract(GATEWAY_JAR, context);
        Path plain = StartProgram.extract(PERF_JAR, context);
        List<StartProgram> programs = new ArrayList<>(List.of(
                StartProgram.weirWithCache(gateway, quick, context),
                StartProgram.plainWithCache(plain, served, quick, context),
                StartProgram.ofPeer(WEIR_JAR, PeerProxy.WEIR, context),
                StartProgram.ofPeer(PLAIN_JAR, PeerProxy.PLAIN_GATEWAY, context)));
        for (PeerProxy peer : PEERS) {
            if (peer.isInstalled()) {
                programs.add(StartProgram.ofPeer(peer.label(), peer, context));
            }
        }
        programs.add(StartProgram.ofConfiguration(ONE_ROUTE, StartConfiguration.ONE_ROUTE, gateway, context));
        programs.add(StartProgram.ofConfiguration(MANY_ROUTES, StartConfiguration.MANY_ROUTES, gateway, context));
        return programs;
    }

    private static void describe(List<StartProgram> programs, ExperimentContext context) {
        context.property("compare", programs.stream().map(StartProgram::label).collect(Collectors.joining(",")));
        context.property("limits", context.cores() + " core each, and the limits of perf/peers");
        context.property("load.question", "start");
        context.note("Ready: Weir's readiness probe answers 200; the others have none, and answer a request.");
        context.note("The backend shares the generator's cores.");
    }

    /** A cold load client would count its own start as latency. */
    private static void warmUpLoad(int served, ExperimentContext context) {
        context.progress("the load warms up");
        var unused = StartMeasurement.load(new Places(served, 0, served, 0, 0, 1, PeerProxy.OPEN_FILES))
                .run(2 * RATE, Duration.ofSeconds(10));
    }

    private static void measureStarts(
            List<StartProgram> programs, int rounds, PeerBackends backends, ExperimentContext context)
            throws InterruptedException {
        Map<String, List<Double>> cpu = new LinkedHashMap<>();
        Map<String, List<Double>> wall = new LinkedHashMap<>();
        for (int round = 1; round <= rounds; round++) {
            context.beginStep("starts " + round);
            for (StartProgram program : programs) {
                StartMeasurement start = start(program, backends, context);
                context.processes().stop(start.process());
                cpu.computeIfAbsent(program.label(), _ -> new ArrayList<>()).add(start.cpuSeconds());
                wall.computeIfAbsent(program.label(), _ -> new ArrayList<>()).add(start.wallSeconds());
                context.sample("processor seconds to readiness", program.label(), start.cpuSeconds());
            }
        }
        context.endStep();
        cpu.forEach((label, seconds) -> context.fact(label + ".start.cpu", Requests.median(seconds), "s"));
        wall.forEach((label, seconds) -> context.fact(label + ".start.took", Requests.median(seconds), "s"));
        recordRatio(WEIR, PLAIN, cpu, context);
        recordRatio(WEIR_JAR, PLAIN_JAR, cpu, context);
        recordRatio(MANY_ROUTES, ONE_ROUTE, cpu, context);
    }

    private static void recordRatio(
            String label, String other, Map<String, List<Double>> cpu, ExperimentContext context) {
        List<Double> none = List.of();
        context.fact(
                label + ".start.of-" + other,
                RateRounds.ratio(cpu.getOrDefault(label, none), cpu.getOrDefault(other, none)),
                "times");
    }
}
