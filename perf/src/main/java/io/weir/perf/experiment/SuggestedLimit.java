package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Request;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunFailure;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Does the limit that the gateway suggests by Little's law hold the throughput with the least waiting? A
 * backend with a capacity of 200 requests per second, ten at a time, gets 150 per second and queues the rest.
 * The gateway suggests a limit while its own limit is wide. Then multiples of the suggestion are set under
 * the same load.
 */
@ExperimentName("littles-law")
@Question("does the limit that the gateway suggests hold the throughput with the least waiting?")
final class SuggestedLimit extends Experiment {

    private static final String CALLER = "caller";
    private static final String SUGGESTED = "suggested";
    private static final String[] BACKEND = {"backend=\"mvc\""};
    private static final int WIDE_LIMIT = 64;

    /** Multiples of the suggestion. Descending: a limit that is too low leaves a queue for the next one. */
    private static final Map<String, Double> MULTIPLES = new LinkedHashMap<>();

    static {
        MULTIPLES.put("four times", 4.0);
        MULTIPLES.put("twice", 2.0);
        MULTIPLES.put(SUGGESTED, 1.0);
        MULTIPLES.put("half", 0.5);
        MULTIPLES.put("a quarter", 0.25);
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(MULTIPLES.size(), phases(quick).length().plusSeconds(30));
    }

    @Override
    public int processes() {
        return 3;
    }

    /** Phases are longer than the window of the gateway's figures. */
    private static Phases phases(boolean quick) {
        Duration length = Duration.ofSeconds(quick ? 15 : 60);
        Phases phases = new Phases()
                .then(PhasedLoad.WARM_UP, Duration.ofSeconds(quick ? 15 : 30))
                .then("wide", length);
        MULTIPLES.keySet().forEach(name -> phases.then(name, length));
        return phases;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        context.property("x", "limit of concurrent calls at the gateway");
        TestServers servers = new TestServers(context);
        RunningServer backend = servers.poolBackend();
        RunningServer gateway = servers.gateway("local.yml", backend, backend);
        servers.ready(backend, "/work");
        servers.ready(gateway, "/mvc/work");
        servers.manageable(gateway);
        gateway.setLimit("mvc", WIDE_LIMIT);
        Phases phases = phases(context.quick());
        PhasedLoad load = new PhasedLoad(context, "gateway", gateway.url(), Duration.ofSeconds(5), phases)
                .callers(CALLER, "/mvc/work", 150)
                .require(SUGGESTED::equals, CALLER, LoadAssertion.successPercent(97));
        Map<String, Double> waitingPercent = new HashMap<>();
        Map<String, Integer> limits = new LinkedHashMap<>();
        double[] suggestion = new double[1];
        load.run((phase, name, at) -> {
            if (!MULTIPLES.containsKey(name)) {
                return;
            }
            if (limits.isEmpty()) {
                suggestion[0] = gateway.metric("weir_law_suggested_limit", BACKEND);
                // The gauge is NaN without a suggestion.
                if (!(suggestion[0] >= 1)) {
                    throw new RunFailure("the gateway suggests no limit");
                }
            } else {
                waitingPercent.put(phases.name(phase - 1), waitingPercent(gateway));
            }
            int limit = (int) Math.max(1, Math.round(suggestion[0] * MULTIPLES.getOrDefault(name, 1.0)));
            limits.put(name, limit);
            gateway.setLimit("mvc", limit);
            context.beginStep(at, "limit", Integer.toString(limit));
        });
        waitingPercent.put(phases.name(phases.size() - 1), waitingPercent(gateway));
        recordFigures(phases, load, limits, waitingPercent, context);
    }

    private static double waitingPercent(RunningServer gateway) {
        return 100 * gateway.metric("weir_law_waiting_ratio", BACKEND);
    }

    private static void recordFigures(
            Phases phases,
            PhasedLoad load,
            Map<String, Integer> limits,
            Map<String, Double> waitingPercent,
            ExperimentContext context) {
        double best = 0;
        double suggested = 0;
        for (int i = 2; i < phases.size(); i++) {
            String name = phases.name(i);
            List<Request> served =
                    load.requests(i, CALLER).stream().filter(Request::succeeded).toList();
            double throughput = served.size() / load.seconds(i);
            best = Math.max(best, throughput);
            suggested = name.equals(SUGGESTED) ? throughput : suggested;
            String fact = name.replace(' ', '-');
            context.fact(fact + ".limit", limits.getOrDefault(name, 0), "calls");
            context.fact(fact + ".throughput", throughput, "1/s");
            context.fact(fact + ".p50", Request.percentile(served, 50), "ms");
            context.fact(fact + ".p99", Request.percentile(served, 99), "ms");
            context.fact(fact + ".waiting", waitingPercent.getOrDefault(name, 0.0), "% of the time");
        }
        context.fact("suggested.held", 100 * suggested / best, "% of the best throughput");
    }
}
