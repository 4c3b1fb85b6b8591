package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.TestServers.GatewayUnderTest;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * A backend hangs for 1, 5 and 30 seconds. How long after it has healed are its callers served again? The
 * recovery is the first moment after the heal from which 99 of 100 consecutive requests succeed. The backend
 * heals at a random moment and never answers what it swallowed, so the recovery includes the wait for the
 * next probe. Each fault is repeated, and the median counts.
 *
 * <p>Limitation: a simulator behind a gateway elsewhere answers the requests that it held when it heals. A
 * probe that hangs at that moment succeeds at once, so the wait for the next probe is not measured.
 */
@Measures(
        name = "recovery",
        question = "a backend hangs for 1, 5, 30 s: how long after the heal until 99 % succeed?",
        quickMinutes = 3,
        fullMinutes = 11,
        processes = 3,
        remote = true)
final class HealedBackend extends Experiment {

    private static final String CALLER = "caller";
    private static final int CONSECUTIVE = 100;
    /** Half of what the backend can serve. */
    private static final int RATE = 100;

    private static final long SEED = 20_261_123;
    private static final List<Integer> FAULT_SECONDS = List.of(1, 5, 30);

    private static Phases phases(boolean quick) {
        Phases phases = new Phases(quick ? 10 : 30);
        int repetitions = quick ? 2 : 5;
        for (int i = 0; i < repetitions; i++) {
            FAULT_SECONDS.forEach(
                    seconds -> phases.thenFault(quick ? 4 : 10, "hang of " + seconds + " s", seconds, quick ? 6 : 15));
        }
        return phases;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        // Here the backend never answers the requests that came while it hung.
        GatewayUnderTest tested = context.isRemote()
                ? context.servers().localGateway()
                : context.servers().gatewayOf(PeerBackends.startSick("sick", context));
        if (context.isRemote()) {
            context.note("When it heals, the simulator answers the requests that it held: a probe that hangs then"
                    + " succeeds at once, so the wait for the next probe is not measured.");
        }
        context.fact("seed", SEED, "");
        Phases phases = phases(context.quick());
        PhasedLoad load = new PhasedLoad(context, "gateway", tested.gateway().url(), 5, phases)
                .callers(CALLER, context.isRemote() ? "/mvc/delay?ms=20" : "/mvc/work", RATE)
                .healAtRandom(SEED)
                .require(PhasedLoad::isAfter, CALLER, List.of(LoadAssertion.successPercent(80)));
        load.runFaults("", tested.backend(), fault -> "{\"kind\": \"hang\"}");
        Map<Integer, List<Double>> recoveries = new TreeMap<>();
        for (int fault : phases.faults()) {
            int after = fault + 1;
            double seconds = secondsUntilServed(load.requests(after, CALLER), load.healMillis(fault));
            boolean recovered = !Double.isNaN(seconds);
            context.require(
                    phases.name(after) + ": callers are served again within the phase",
                    recovered,
                    recovered ? String.format(Locale.ROOT, "after %.3f s", seconds) : "not");
            recoveries
                    .computeIfAbsent(load.seconds(fault), _ -> new ArrayList<>())
                    .add(recovered ? seconds : load.seconds(after));
        }
        recoveries.forEach((length, seconds) -> {
            context.fact("recovery.median." + length + "s", Requests.median(seconds), "s");
            context.fact("recovery.worst." + length + "s", Collections.max(seconds), "s");
        });
    }

    /** From the heal to the first of 100 consecutive requests of which 99 succeed; NaN if there are none. */
    static double secondsUntilServed(Requests requests, long healMillis) {
        for (int i = 0; i + CONSECUTIVE <= requests.size(); i++) {
            Request first = requests.all().get(i);
            Requests consecutive = new Requests(requests.all().subList(i, i + CONSECUTIVE));
            if (first.succeeded() && consecutive.successPercent() >= 99) {
                return (first.atMillis() - healMillis) / 1000.0;
            }
        }
        return Double.NaN;
    }
}
