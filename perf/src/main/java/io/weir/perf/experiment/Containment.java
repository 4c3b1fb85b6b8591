package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import io.weir.perf.run.TestServers.GatewayUnderTest;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * One of two backends fails. What do the callers of its neighbour notice? The fronts are measured one after
 * the other, with fresh backends after an overload:
 *
 * <ul>
 *   <li>{@code protected}: the gateway with {@code config/local.yml}. It must contain every fault.
 *   <li>{@code unprotected}: the same gateway with {@code config/unprotected.yml}.
 *   <li>{@code capped}: the same with one pool for all requests: the callers' connections, as many as the
 *       last front has threads. The protected front has the same cap. Reactor Netty's pools cannot be shared,
 *       because each belongs to one address.
 *   <li>{@code threads}: Spring MVC with 200 threads.
 *   <li>{@code target}: a gateway that runs elsewhere. It is measured alone, and must contain every fault.
 * </ul>
 */
@Measures(
        name = "containment",
        question = "one backend hangs, slows, fails, resets, is overloaded: what do the callers of the others notice?",
        quickMinutes = 11,
        fullMinutes = 24,
        processes = 3,
        remote = true)
class Containment extends Experiment {

    private static final int DEADLINE_MILLIS = 800;
    private static final int TIMEOUT_SECONDS = 5;

    /** The simulator's faults; the load makes the overload. */
    private static final Map<String, String> FAULTS = Map.of(
            "hang", "{\"kind\": \"hang\"}",
            "slow", "{\"kind\": \"latency\", \"distribution\": \"fixed\", \"delay\": \"4s\"}",
            "fail", "{\"kind\": \"errors\", \"shares\": {\"500\": 1.0}}",
            "reset", "{\"kind\": \"reset\"}");

    enum Front {
        PROTECTED,
        UNPROTECTED,
        CAPPED,
        THREADS,
        TARGET;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The fronts that are measured, those that must contain every fault, the number of callers' connections
     * or threads that all but {@code unprotected} have, the load, and its required assertions.
     */
    record ContainmentExtent(
            List<Front> fronts,
            List<Front> containing,
            int shared,
            NeighbourLoad load,
            List<LoadAssertion> required,
            List<LoadAssertion> sickRequired,
            List<LoadAssertion> healedRequired) {}

    /** The deadline of a remote gateway is unknown, so its limits are those of the callers' timeout. */
    ContainmentExtent extent(boolean quick, boolean remote) {
        int sickMillis = remote ? 1000 * TIMEOUT_SECONDS : 2 * DEADLINE_MILLIS;
        int neighbourMillis = remote ? 500 * TIMEOUT_SECONDS : DEADLINE_MILLIS / 2;
        Phases phases = new Phases(quick ? 20 : 30);
        for (String fault : List.of("hang", "slow", "fail", "reset", PhasedLoad.OVERLOAD)) {
            phases.thenFault(quick ? 5 : 15, fault, quick ? 10 : 30, quick ? 5 : 15);
        }
        return new ContainmentExtent(
                remote
                        ? List.of(Front.TARGET)
                        : List.of(Front.PROTECTED, Front.UNPROTECTED, Front.CAPPED, Front.THREADS),
                List.of(Front.PROTECTED, Front.TARGET),
                200,
                new NeighbourLoad(phases, 80, 100, 500),
                List.of(LoadAssertion.successPercent(97), LoadAssertion.below("p99", neighbourMillis)),
                List.of(LoadAssertion.below("p99", sickMillis)),
                List.of(LoadAssertion.successPercent(80)));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        ContainmentExtent extent = extent(context.quick(), context.isRemote());
        TestServers servers = context.servers();
        if (context.isRemote()) {
            GatewayUnderTest target = servers.localGateway();
            measure(Front.TARGET, target.gateway(), target.backend(), extent, context);
            return;
        }
        context.note(
                ("protected: config/local.yml with %1$d connections for all callers. unprotected: the same gateway with"
                                + " config/unprotected.yml, without deadline, breaker and bulkhead, and without that cap."
                                + " capped: unprotected with the cap. threads: Spring MVC with %1$d threads. p99 includes all"
                                + " requests, with any outcome.")
                        .formatted(extent.shared()));
        context.property("panels", extent.fronts().stream().map(Front::label).collect(Collectors.joining(",")));
        context.property("limits", extent.shared() + " callers' connections or threads; unprotected: no cap");
        String cap = "--weir.edge.max-connections=" + extent.shared();
        List<RunningServer> backends = List.of();
        for (Front front : extent.fronts()) {
            if (backends.isEmpty()) {
                backends = List.of(servers.poolBackend(), servers.simulator(NeighbourLoad.NEIGHBOUR, "webflux-r2dbc"));
            }
            RunningServer sick = backends.getFirst();
            RunningServer neighbour = backends.getLast();
            context.progress(front.label() + " starts");
            RunningServer door =
                    switch (front) {
                        case PROTECTED -> servers.gateway("local.yml", sick, neighbour, cap);
                        case UNPROTECTED -> servers.gateway("unprotected.yml", sick, neighbour);
                        case CAPPED -> servers.gateway("unprotected.yml", sick, neighbour, cap);
                        case THREADS -> servers.threadFront(extent.shared(), sick, neighbour);
                        case TARGET -> throw new IllegalArgumentException("the target runs elsewhere");
                    };
            servers.ready(sick, "/work");
            servers.ready(neighbour, "/delay?ms=1");
            servers.ready(door, "/mvc/work");
            servers.ready(door, "/reactive/delay?ms=1");
            measure(front, door, sick, extent, context);
            context.stop(door);
            // The queue that an overload leaves behind would delay the next front.
            if (extent.load().phases().contains(PhasedLoad.OVERLOAD)) {
                context.stop(sick, neighbour);
                backends = List.of();
            }
        }
    }

    private static void measure(
            Front front, RunningServer door, RunningServer sick, ContainmentExtent extent, ExperimentContext context)
            throws InterruptedException {
        PhasedLoad load = extent.load()
                .on(context, front.label(), door.url(), TIMEOUT_SECONDS, "/mvc/work", "/reactive/delay?ms=20")
                .require(PhasedLoad::isFault, NeighbourLoad.NEIGHBOUR, extent.required())
                .require(PhasedLoad::isFault, NeighbourLoad.SICK, extent.sickRequired())
                .require(PhasedLoad::isAfter, NeighbourLoad.SICK, extent.healedRequired())
                .binding(extent.containing().contains(front));
        GatlingLoad.Result result = load.runFaults(front.label() + ": ", sick, fault -> FAULTS.getOrDefault(fault, ""));
        context.fact(front.label() + ".assertions.failed", result.failedAssertions(), "");
        Phases phases = extent.load().phases();
        for (int phase : phases.faults()) {
            NeighbourLoad.recordFault(load, phase, front.label() + "." + phases.name(phase) + ".", context);
        }
    }
}
