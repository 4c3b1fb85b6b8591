package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Requests;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import io.weir.perf.run.TestServers.GatewayUnderTest;
import java.util.List;

/**
 * A backend gets four times its capacity for 15 seconds, then the usual load. It queues all requests, and
 * completes those whose callers have left after a second. Without a gateway it works on requests of callers
 * who have left, and current callers leave before their turn. Behind the gateway it must recover.
 */
@Measures(
        name = "metastable",
        question = "overload for 15 s, then the usual load: does the backend recover, directly and behind the gateway?",
        quickMinutes = 4,
        fullMinutes = 5,
        processes = 3,
        remote = true)
final class Metastable extends Experiment {

    private static final String CALLER = "caller";
    private static final double CAPACITY = 200;
    private static final int RATE = 150;
    private static final int OVERLOAD_RATE = 800;
    private static final int OVERLOAD_SECONDS = 15;

    /** What must recover warms up with an overload, too; without a gateway, it would decide the result. */
    private static Phases phases(boolean quick, boolean warmOverload) {
        Phases phases = new Phases(quick ? 20 : 30);
        if (warmOverload) {
            phases.then(PhasedLoad.OVERLOAD, 6).then("settle", 6);
        }
        return phases.thenFault(10, PhasedLoad.OVERLOAD, OVERLOAD_SECONDS, quick ? 20 : 60);
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        TestServers servers = context.servers();
        if (context.isRemote()) {
            measure("target", servers.localGateway().gateway(), "/mvc/work", context);
            return;
        }
        RunningServer direct = servers.ready(servers.poolBackend(), "/work");
        measure("direct", direct, "/work", context);
        context.stop(direct);
        GatewayUnderTest tested = servers.gatewayOf(servers.poolBackend());
        measure("gateway", tested.gateway(), "/mvc/work", context);
        context.stop(tested.gateway(), tested.backend());
    }

    private static void measure(String label, RunningServer door, String path, ExperimentContext context)
            throws InterruptedException {
        boolean mustRecover = !label.equals("direct");
        Phases phases = phases(context.quick(), mustRecover);
        int after = phases.size() - 1;
        PhasedLoad load = new PhasedLoad(context, label, door.url(), 1, phases)
                .callers(CALLER, path, RATE, OVERLOAD_RATE)
                .binding(mustRecover);
        if (mustRecover) {
            load.require(PhasedLoad::isAfter, CALLER, List.of(LoadAssertion.successPercent(95)));
        }
        load.run((phase, name, at) -> {
            // A step for each phase: an average over all of them would hide a saturated generator.
            if (phase >= after - 2) {
                context.beginStep(at, label + ": " + (phase == after ? "after" : name), "");
            }
            if (phase == after) {
                context.span(PhasedLoad.OVERLOAD, load.beginMillis(phase - 1), at);
            }
        });
        double goodput = load.requests(after - 1, CALLER).successes().size() / (double) OVERLOAD_SECONDS;
        if (label.equals("target")) {
            // The capacity of a backend elsewhere is unknown.
            context.fact(label + ".overload.throughput", goodput, "1/s");
        } else {
            context.fact(label + ".overload.goodput", 100 * goodput / CAPACITY, "% of its capacity");
        }
        Requests requests = load.requests(after, CALLER);
        context.fact(label + ".after.success", requests.successPercent(), "%");
        double seconds = HealedBackend.secondsUntilServed(requests, load.beginMillis(after));
        context.fact(label + ".back", Double.isNaN(seconds) ? 0 : 1, "(1: it came back)");
        if (!Double.isNaN(seconds)) {
            context.fact(label + ".back.seconds", seconds, "s");
        }
    }
}
