package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Requests;
import io.weir.perf.run.ExperimentContext;

/**
 * The load of an experiment in which one of two backends fails, phase by phase. The rates are requests per
 * second.
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
        Requests sick = load.requests(phase, SICK);
        recordNeighbour(load, phase, prefix, context);
        context.fact(prefix + "sick.success", sick.successPercent(), "%");
        context.fact(prefix + "sick.p50", sick.percentile(50), "ms");
        context.fact(prefix + "sick.p99", sick.percentile(99), "ms");
        context.fact(prefix + "sick.healed", load.requests(phase + 1, SICK).successPercent(), "%");
    }

    /** Records the neighbour's figures in a fault, and in the calm phase before it. */
    static void recordNeighbour(PhasedLoad load, int phase, String prefix, ExperimentContext context) {
        Requests during = load.requests(phase, NEIGHBOUR);
        context.fact(prefix + "neighbour.success", during.successPercent(), "%");
        context.fact(
                prefix + "neighbour.p99.calm",
                load.requests(phase - 1, NEIGHBOUR).percentile(99),
                "ms");
        context.fact(prefix + "neighbour.p99", during.percentile(99), "ms");
    }
}
