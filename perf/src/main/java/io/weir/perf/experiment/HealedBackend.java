package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Latencies;
import io.weir.perf.result.Request;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A backend hangs for 1, 5 and 30 seconds. How long after it has healed are its callers served again? The
 * recovery is the first moment after the heal from which 99 of 100 consecutive requests succeed. Probes have
 * jitter, so each fault is repeated, and the median counts.
 *
 * <p>Limitation: when the simulator heals, it answers the requests that it held. A probe that hangs at that
 * moment succeeds at once, so the wait for the next probe is not measured.
 */
@ExperimentName("recovery")
@Question("a backend hangs for 1, 5, 30 s: how long after the heal until 99 % succeed?")
final class HealedBackend extends Experiment {

    private static final String CALLER = "caller";
    private static final int CONSECUTIVE = 100;
    private static final List<Integer> FAULT_SECONDS = List.of(1, 5, 30);

    @Override
    public boolean supportsTarget() {
        return true;
    }

    private static int repetitions(boolean quick) {
        return quick ? 2 : 5;
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        return new Estimate(
                FAULT_SECONDS.size() * repetitions(quick),
                phases(quick).length().plusSeconds(30));
    }

    @Override
    public int processes() {
        return 3;
    }

    private static Phases phases(boolean quick) {
        Phases phases = new Phases().then(PhasedLoad.WARM_UP, Duration.ofSeconds(quick ? 10 : 30));
        for (int i = 0; i < repetitions(quick); i++) {
            for (int seconds : FAULT_SECONDS) {
                phases.thenFault(
                        Duration.ofSeconds(quick ? 4 : 10),
                        "hang of " + seconds + " s",
                        Duration.ofSeconds(seconds),
                        Duration.ofSeconds(quick ? 6 : 15));
            }
        }
        return phases;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = new TestServers(context);
        if (context.targetGateway().isPresent()) {
            measure(context.targetGateway().orElseThrow(), context.targetSimulator(), context, servers);
            return;
        }
        RunningServer mvc = servers.simulator("mvc", "mvc-jdbc");
        RunningServer reactive = servers.simulator("neighbour", "webflux-r2dbc");
        RunningServer gateway = servers.gateway("local.yml", mvc, reactive);
        servers.ready(mvc, "/delay?ms=1");
        measure(gateway, mvc, context, servers);
    }

    private static void measure(
            RunningServer gateway, RunningServer backend, ExperimentContext context, TestServers servers)
            throws InterruptedException {
        servers.ready(gateway, "/mvc/delay?ms=1");
        context.note("When it heals, the simulator answers the requests that it held: a probe that hangs then succeeds"
                + " at once, so the wait for the next probe is not measured.");
        Phases phases = phases(context.quick());
        PhasedLoad load = new PhasedLoad(context, "gateway", gateway.url(), Duration.ofSeconds(5), phases)
                .callers(CALLER, "/mvc/delay?ms=20", 100)
                .require(PhasedLoad::isAfter, CALLER, LoadAssertion.successPercent(80));
        load.runFaults("", fault -> backend.setFault("{\"kind\": \"hang\"}"), backend::heal);
        Map<Integer, List<Double>> recoveries = new TreeMap<>();
        for (int i = 3; i < phases.size(); i += 3) {
            double seconds = secondsUntilServed(load.requests(i, CALLER), load.beginMillis(i));
            boolean recovered = !Double.isNaN(seconds);
            context.require(
                    phases.name(i) + ": callers are served again within the phase",
                    recovered,
                    recovered ? String.format(Locale.ROOT, "after %.3f s", seconds) : "not");
            int faultSeconds = Integer.parseInt(phases.name(i).replaceAll("\\D", ""));
            recoveries.computeIfAbsent(faultSeconds, _ -> new ArrayList<>()).add(recovered ? seconds : load.seconds(i));
        }
        recoveries.forEach((length, seconds) -> {
            context.fact("recovery.median." + length + "s", Latencies.median(seconds), "s");
            context.fact("recovery.worst." + length + "s", Collections.max(seconds), "s");
        });
    }

    /** From the heal to the first of 100 consecutive requests of which 99 succeed; NaN if there are none. */
    static double secondsUntilServed(List<Request> requests, long healMillis) {
        for (int i = 0; i + CONSECUTIVE <= requests.size(); i++) {
            List<Request> consecutive = requests.subList(i, i + CONSECUTIVE);
            if (consecutive.getFirst().succeeded() && Request.successPercent(consecutive) >= 99) {
                return (consecutive.getFirst().atMillis() - healMillis) / 1000.0;
            }
        }
        return Double.NaN;
    }
}
