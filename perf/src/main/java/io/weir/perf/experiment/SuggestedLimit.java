package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunFailure;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Does the limit that the gateway suggests by Little's law hold the throughput with the least waiting? A
 * backend with a capacity of 200 requests per second, ten at a time, gets 150 per second and queues the rest.
 * Callers arrive with exponential times between them, so that some wait.
 * The gateway suggests a limit while its own limit is wide. Then multiples of the suggestion are set under
 * the same load.
 */
@Measures(
        name = "littles-law",
        question = "does the limit that the gateway suggests hold the throughput with the least waiting?",
        quickMinutes = 3,
        fullMinutes = 7,
        processes = 3)
final class SuggestedLimit extends Experiment {

    private static final String CALLER = "caller";
    private static final String SUGGESTED = "suggested";
    private static final String BACKEND = "backend=\"mvc\"";
    private static final int WIDE_LIMIT = 64;
    /** The first phase with a multiple; before it are the warm-up and the wide limit. */
    private static final int FIRST = 2;

    private record Multiple(String name, double factor) {}

    /** Descending: a limit that is too low leaves a queue for the next one. */
    private static final List<Multiple> MULTIPLES = List.of(
            new Multiple("four times", 4),
            new Multiple("twice", 2),
            new Multiple(SUGGESTED, 1),
            new Multiple("half", 0.5),
            new Multiple("a quarter", 0.25));

    /** Phases are longer than the window of the gateway's figures. */
    private static Phases phases(boolean quick) {
        int seconds = quick ? 15 : 60;
        Phases phases = new Phases(quick ? 15 : 30).then("wide", seconds);
        MULTIPLES.forEach(multiple -> phases.then(multiple.name(), seconds));
        return phases;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        context.property("x", "limit of concurrent calls at the gateway");
        TestServers servers = context.servers();
        RunningServer gateway = servers.gatewayOf(servers.poolBackend()).gateway();
        gateway.setLimit("mvc", WIDE_LIMIT);
        PhasedLoad load = new PhasedLoad(context, "gateway", gateway.url(), 5, phases(context.quick()))
                .exponential()
                .callers(CALLER, "/mvc/work", 150)
                .require(SUGGESTED::equals, CALLER, List.of(LoadAssertion.successPercent(97)));
        double[] suggestion = new double[1];
        List<Integer> limits = new ArrayList<>();
        List<Double> waitingPercent = new ArrayList<>();
        load.run((phase, name, at) -> {
            if (phase < FIRST) {
                return;
            }
            if (phase == FIRST) {
                suggestion[0] = gateway.metric("weir_law_suggested_limit", BACKEND);
                // The gauge is NaN without a suggestion.
                if (!(suggestion[0] >= 1)) {
                    throw new RunFailure("the gateway suggests no limit");
                }
            } else {
                waitingPercent.add(waitingPercent(gateway));
            }
            int limit = (int) Math.max(
                    1, Math.round(suggestion[0] * MULTIPLES.get(phase - FIRST).factor()));
            limits.add(limit);
            gateway.setLimit("mvc", limit);
            context.beginStep(at, "limit", Integer.toString(limit));
        });
        waitingPercent.add(waitingPercent(gateway));
        recordFigures(load, limits, waitingPercent, context);
    }

    private static double waitingPercent(RunningServer gateway) {
        return 100 * gateway.metric("weir_law_waiting_ratio", BACKEND);
    }

    private static void recordFigures(
            PhasedLoad load, List<Integer> limits, List<Double> waitingPercent, ExperimentContext context) {
        Map<String, Double> throughputs = new TreeMap<>();
        for (int i = 0; i < MULTIPLES.size(); i++) {
            Requests served = load.requests(FIRST + i, CALLER).successes();
            double throughput = (double) served.size() / load.seconds(FIRST + i);
            throughputs.put(MULTIPLES.get(i).name(), throughput);
            String fact = MULTIPLES.get(i).name().replace(' ', '-');
            context.fact(fact + ".limit", limits.get(i), "calls");
            context.fact(fact + ".throughput", throughput, "1/s");
            context.fact(fact + ".p50", served.percentile(50), "ms");
            context.fact(fact + ".p99", served.percentile(99), "ms");
            context.fact(fact + ".waiting", waitingPercent.get(i), "% of the time");
        }
        double held = throughputs.getOrDefault(SUGGESTED, 0.0) / Collections.max(throughputs.values());
        context.fact("suggested.held", 100 * held, "% of the best throughput");
    }
}
