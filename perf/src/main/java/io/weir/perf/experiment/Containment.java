package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Request;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.ExperimentName;
import io.weir.perf.run.Experiment.Question;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import io.weir.perf.run.TestServers;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * One of two backends fails. What do the callers of its neighbour notice? The fronts are measured one after
 * the other, with fresh backends after an overload:
 *
 * <ul>
 *   <li>{@code protected}: the gateway with {@code config/local.yml}. It must contain every fault.
 *   <li>{@code unprotected}: the same gateway with {@code config/unprotected.yml} and one pool for all
 *       requests: the callers' connections, as many as the third front has threads. Reactor Netty's pools
 *       cannot be shared, because each belongs to one address.
 *   <li>{@code threads}: Spring MVC with 200 threads.
 *   <li>{@code target}: a gateway that runs elsewhere. It is measured alone, and must contain every fault.
 * </ul>
 */
@ExperimentName("containment")
@Question("one backend hangs, slows, fails, resets, is overloaded: what do the callers of the others notice?")
class Containment extends Experiment {

    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final Duration TIMEOUT = Duration.ofSeconds(5);
    private static final String SICK = "sick";
    private static final String NEIGHBOUR = "neighbour";

    /** The simulator's faults; the load makes the overload. */
    private static final Map<String, String> FAULTS = Map.of(
            "hang", "{\"kind\": \"hang\"}",
            "slow", "{\"kind\": \"latency\", \"distribution\": \"fixed\", \"delay\": \"4s\"}",
            "fail", "{\"kind\": \"errors\", \"shares\": {\"500\": 1.0}}",
            "reset", "{\"kind\": \"reset\"}");

    enum Front {
        PROTECTED,
        UNPROTECTED,
        THREADS,
        TARGET;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The extent of the experiment.
     *
     * @param containing the fronts that must contain every fault
     * @param shared the callers' connections, or the threads, of the fronts without compartments
     * @param sickRate requests per second to the failing backend
     * @param required the assertions of the neighbour during a fault
     * @param sickRequired the assertions of the failing backend during a fault
     * @param healedRequired the assertions of the failing backend after a fault
     */
    record ContainmentExtent(
            List<Front> fronts,
            List<Front> containing,
            List<String> faults,
            Duration warmUp,
            Duration calm,
            Duration fault,
            Duration after,
            int shared,
            int sickRate,
            int neighbourRate,
            int overloadRate,
            List<LoadAssertion> required,
            List<LoadAssertion> sickRequired,
            List<LoadAssertion> healedRequired) {

        Phases phases() {
            Phases phases = new Phases().then(PhasedLoad.WARM_UP, warmUp);
            faults.forEach(one -> phases.thenFault(calm, one, fault, after));
            return phases;
        }
    }

    /** The deadline of a remote gateway is unknown, so its limits are those of the callers' timeout. */
    ContainmentExtent extent(boolean quick, boolean remote) {
        long sickMillis = remote ? TIMEOUT.toMillis() : 2 * DEADLINE.toMillis();
        long neighbourMillis = remote ? TIMEOUT.toMillis() / 2 : DEADLINE.toMillis() / 2;
        return new ContainmentExtent(
                remote ? List.of(Front.TARGET) : List.of(Front.PROTECTED, Front.UNPROTECTED, Front.THREADS),
                List.of(Front.PROTECTED, Front.TARGET),
                List.of("hang", "slow", "fail", "reset", PhasedLoad.OVERLOAD),
                Duration.ofSeconds(quick ? 20 : 30),
                Duration.ofSeconds(quick ? 5 : 15),
                Duration.ofSeconds(quick ? 10 : 30),
                Duration.ofSeconds(quick ? 5 : 15),
                200,
                80,
                100,
                500,
                List.of(LoadAssertion.successPercent(97), LoadAssertion.below("p99", neighbourMillis)),
                List.of(LoadAssertion.below("p99", sickMillis)),
                List.of(LoadAssertion.successPercent(80)));
    }

    @Override
    public boolean supportsTarget() {
        return true;
    }

    @Override
    public Estimate estimate(boolean quick, boolean remote) {
        ContainmentExtent extent = extent(quick, remote);
        int fronts = extent.fronts().size();
        return new Estimate(
                fronts * extent.faults().size(),
                extent.phases().length().plusSeconds(30).multipliedBy(fronts));
    }

    @Override
    public int processes() {
        return 3;
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        boolean remote = context.targetGateway().isPresent();
        ContainmentExtent extent = extent(context.quick(), remote);
        TestServers servers = new TestServers(context);
        if (remote) {
            RunningServer target = context.targetGateway().orElseThrow();
            measure(Front.TARGET, target, context.targetSimulator(), extent, context, servers);
            return;
        }
        context.note(String.format(
                Locale.ROOT,
                "protected: config/local.yml. unprotected: the same gateway with config/unprotected.yml, without"
                        + " deadline, breaker and bulkhead, and with %1$d connections for all callers, which its"
                        + " backends share as those of the third front share its %1$d threads. threads: Spring MVC. p99"
                        + " includes all requests, with any outcome.",
                extent.shared()));
        RunningServer[] backends = {};
        for (Front front : extent.fronts()) {
            if (backends.length == 0) {
                backends = new RunningServer[] {
                    servers.poolBackend(), servers.simulator(NEIGHBOUR, "webflux-r2dbc"),
                };
            }
            context.progress(front.label() + " starts");
            RunningServer door = start(front, extent.shared(), backends[0], backends[1], servers);
            servers.ready(backends[0], "/work");
            servers.ready(backends[1], "/delay?ms=1");
            measure(front, door, backends[0], extent, context, servers);
            context.stop(door);
            // The queue that an overload leaves behind would delay the next front.
            if (extent.faults().contains(PhasedLoad.OVERLOAD)) {
                context.stop(backends);
                backends = new RunningServer[] {};
            }
        }
    }

    private static RunningServer start(
            Front front, int shared, RunningServer mvc, RunningServer reactive, TestServers servers) {
        return switch (front) {
            case PROTECTED -> servers.gateway("local.yml", mvc, reactive);
            case UNPROTECTED ->
                servers.gateway("unprotected.yml", mvc, reactive, "--weir.edge.max-connections=" + shared);
            case THREADS -> servers.threadFront(shared, mvc, reactive);
            case TARGET -> throw new IllegalArgumentException("the target runs elsewhere");
        };
    }

    private static void measure(
            Front front,
            RunningServer door,
            RunningServer sick,
            ContainmentExtent extent,
            ExperimentContext context,
            TestServers servers)
            throws InterruptedException {
        servers.ready(door, "/mvc/work");
        servers.ready(door, "/reactive/delay?ms=1");
        Phases phases = extent.phases();
        PhasedLoad load = new PhasedLoad(context, front.label(), door.url(), TIMEOUT, phases)
                .callers(NEIGHBOUR, "/reactive/delay?ms=20", extent.neighbourRate())
                .callers(SICK, "/mvc/work", extent.sickRate(), extent.overloadRate())
                .require(PhasedLoad::isFault, NEIGHBOUR, extent.required().toArray(LoadAssertion[]::new))
                .require(PhasedLoad::isFault, SICK, extent.sickRequired().toArray(LoadAssertion[]::new))
                .require(PhasedLoad::isAfter, SICK, extent.healedRequired().toArray(LoadAssertion[]::new))
                .binding(extent.containing().contains(front));
        GatlingLoad.Result result = load.runFaults(
                front.label() + ": ",
                fault -> {
                    if (FAULTS.containsKey(fault)) {
                        sick.setFault(FAULTS.getOrDefault(fault, ""));
                    }
                },
                sick::heal);
        context.fact(front.label() + ".assertions.failed", result.failedAssertions(), "");
        for (int phase = 1; phase < phases.size(); phase += 3) {
            String prefix = front.label() + "." + phases.name(phase + 1) + ".";
            recordFault(load, phase, prefix, context);
        }
    }

    /** Records the figures of a fault; {@code phase} is the calm phase before it. */
    static void recordFault(PhasedLoad load, int phase, String prefix, ExperimentContext context) {
        List<Request> neighbour = load.requests(phase + 1, NEIGHBOUR);
        List<Request> sick = load.requests(phase + 1, SICK);
        context.fact(prefix + "neighbour.success", Request.successPercent(neighbour), "%");
        context.fact(prefix + "neighbour.p99.calm", Request.percentile(load.requests(phase, NEIGHBOUR), 99), "ms");
        context.fact(prefix + "neighbour.p99", Request.percentile(neighbour, 99), "ms");
        context.fact(prefix + "sick.success", Request.successPercent(sick), "%");
        context.fact(prefix + "sick.p50", Request.percentile(sick, 50), "ms");
        context.fact(prefix + "sick.p99", Request.percentile(sick, 99), "ms");
        context.fact(prefix + "sick.healed", Request.successPercent(load.requests(phase + 2, SICK)), "%");
    }
}
