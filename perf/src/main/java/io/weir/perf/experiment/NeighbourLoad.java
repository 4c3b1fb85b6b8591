package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Request;
import io.weir.perf.run.ExperimentContext;
import java.util.List;

/**
 * The load of an experiment in which one of two backends fails, phase by phase.
 *
 * @param sickRate requests per second to the failing backend
 * @param neighbourRate requests per second to the other one
 * @param overloadRate requests per second to the failing backend in the phase {@link PhasedLoad#OVERLOAD}
 */
record NeighbourLoad(Phases phases, int sickRate, int neighbourRate, int overloadRate) {

    static final String SICK = "sick";
    static final String NEIGHBOUR = "neighbour";

    PhasedLoad on(
            ExperimentContext context,
            String label,
            String url,
            int timeoutSeconds,
            String sickPath,
            String neighbourPath) {
        return new PhasedLoad(context, label, url, timeoutSeconds, phases)
                .callers(NEIGHBOUR, neighbourPath, neighbourRate)
                .callers(SICK, sickPath, sickRate, overloadRate);
    }

    /**
     * Records the figures of a fault; {@code phase} is that of the fault, between a calm one and one after.
     */
    static void recordFault(PhasedLoad load, int phase, String prefix, ExperimentContext context) {
        List<Request> neighbour = load.requests(phase, NEIGHBOUR);
        List<Request> sick = load.requests(phase, SICK);
        context.fact(prefix + "neighbour.success", Request.successPercent(neighbour), "%");
        context.fact(prefix + "neighbour.p99.calm", Request.percentile(load.requests(phase - 1, NEIGHBOUR), 99), "ms");
        context.fact(prefix + "neighbour.p99", Request.percentile(neighbour, 99), "ms");
        context.fact(prefix + "sick.success", Request.successPercent(sick), "%");
        context.fact(prefix + "sick.p50", Request.percentile(sick, 50), "ms");
        context.fact(prefix + "sick.p99", Request.percentile(sick, 99), "ms");
        context.fact(prefix + "sick.healed", Request.successPercent(load.requests(phase + 1, SICK)), "%");
    }
}
