package io.weir.perf.experiment;

import io.weir.perf.experiment.PhasedLoad.Phases;
import io.weir.perf.result.Requests;
import io.weir.perf.run.ChaosOptions;
import io.weir.perf.run.ChaosTarget;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.Experiment.Measures;
import io.weir.perf.run.ExperimentContext;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A deployed gateway injects faults into the calls of one of its routes, in turn, under a bounded load on
 * that route and on a neighbour. Its backends may be anything. The run judges with limits of its own, so that
 * it can gate a release:
 *
 * <ul>
 *   <li>the neighbour: share of successes and p99, compared with its own calm phase before the fault;
 *   <li>the callers of the route: none waits beyond its deadline, and once the gateway knows that the backend
 *       hangs, hardly any waits at all;
 *   <li>the recovery: the route serves its callers again within a stated time after the fault.
 * </ul>
 */
@Measures(
        name = "chaos",
        question = "a deployed gateway injects faults into a route: are its neighbour, callers and recovery fine?",
        quickMinutes = 2,
        fullMinutes = 6,
        remote = true)
class Chaos extends Experiment {

    private static final String ROUTE = "route";
    private static final String NEIGHBOUR = NeighbourLoad.NEIGHBOUR;
    /** The run ends each fault. If it dies, the fault heals by itself that much later. */
    private static final int SPARE_SECONDS = ChaosOptions.SPARE_SECONDS;

    /** The seconds of the phases besides the faults. */
    record ChaosPhases(int warmUp, int calm, int after) {}

    ChaosPhases phases(boolean quick, ChaosOptions options) {
        return new ChaosPhases(quick ? 10 : 30, quick ? 5 : 15, options.recoverySeconds() + (quick ? 3 : 10));
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        ChaosTarget target = context.chaos();
        ChaosOptions options = target.options();
        ChaosTarget.RouteFacts facts = target.check();
        long deadline = facts.deadlineMillis();
        int faultSeconds = options.faultSeconds(deadline);
        ChaosPhases extent = phases(context.quick(), options);
        Phases phases = new Phases(extent.warmUp());
        options.faults().forEach(fault -> phases.thenFault(extent.calm(), fault, faultSeconds, extent.after()));
        warn(options, target, facts, phases.seconds(), faultSeconds);
        context.note("The gateway injected the faults itself, as if the backend " + facts.backend() + " misbehaved.");

        int timeoutSeconds = (int) Math.ceilDiv(deadline + options.slackMillis(), 1_000L) + 1;
        PhasedLoad load = new PhasedLoad(context, "target", target.gateway().toString(), timeoutSeconds, phases)
                .callers(NEIGHBOUR, options.neighbourPath(), options.rate())
                .callers(ROUTE, options.routePath(), options.rate());
        Map<Integer, Long> ids = new HashMap<>();
        Map<Integer, Long> calls = new HashMap<>();
        load.run((phase, name, at) -> {
            if (name.equals(PhasedLoad.CALM)) {
                context.beginStep(at, phases.name(phase + 1), "");
            } else if (PhasedLoad.isAfter(name)) {
                long id = ids.getOrDefault(phase - 1, 0L);
                calls.put(phase - 1, target.calls(id));
                target.end(id);
                context.span(phases.name(phase - 1), load.beginMillis(phase - 1), at);
            } else if (PhasedLoad.isFault(name)) {
                ids.put(phase, target.inject(ChaosOptions.order(name, deadline), faultSeconds + SPARE_SECONDS));
            }
        });
        ChaosJudge judge = new ChaosJudge(options, deadline);
        for (int phase : phases.faults()) {
            judge(judge, load, phase, phases.name(phase), calls.getOrDefault(phase, 0L), context);
        }
    }

    private static void judge(
            ChaosJudge judge, PhasedLoad load, int phase, String fault, long calls, ExperimentContext context) {
        Requests calm = load.requests(phase - 1, NEIGHBOUR);
        Requests neighbour = load.requests(phase, NEIGHBOUR);
        Requests during = load.requests(phase, ROUTE);
        Requests after = load.requests(phase + 1, ROUTE);
        judge.invalid(fault, load.requests(phase - 1, ROUTE), calm, calls).forEach(context::invalidate);
        judge.neighbour(calm, neighbour).forEach(verdict -> require(context, fault, verdict));
        require(context, fault, judge.longestWait(Requests.of(List.of(during, after))));
        if (fault.equals("hang")) {
            require(context, fault, judge.waitingInVain(during, load.beginMillis(phase)));
        }
        require(context, fault, judge.recovery(after, load.endMillis(phase)));
        context.fact(fault + ".calls", (double) calls, "calls");
        NeighbourLoad.recordNeighbour(load, phase, fault + '.', context);
        context.fact(fault + ".route.success", during.successPercent(), "%");
        context.fact(fault + ".route.p50", during.percentile(50), "ms");
        context.fact(fault + ".route.longest", during.percentile(100), "ms");
        context.fact(fault + ".recovery", ChaosJudge.secondsUntilServed(after, load.endMillis(phase)), "s");
    }

    private static void require(ExperimentContext context, String fault, ChaosJudge.Verdict verdict) {
        context.require(fault + ": " + verdict.condition(), verdict.holds(), verdict.measured());
    }

    /** A deployment with real callers: say what will happen, before the warm-up, which injects nothing. */
    private static void warn(
            ChaosOptions options, ChaosTarget target, ChaosTarget.RouteFacts facts, int seconds, int faultSeconds) {
        System.err.printf(
                """
                perf/run chaos: for %d s, sends %d requests/s each to
                  %s%s (route %s, backend %s) and
                  %s%s (route %s, backend %s).
                It makes %d %% of ALL CALLS of route %s fail or wait, those of real callers included,
                %d times for %d s (%s), and judges from the outside.
                Ctrl-C ends the run and its faults; they heal by themselves in any case.
                """,
                seconds,
                options.rate(),
                target.gateway(),
                options.routePath(),
                options.route(),
                facts.backend(),
                target.gateway(),
                options.neighbourPath(),
                options.neighbour(),
                facts.neighbourBackend(),
                options.percent(),
                options.route(),
                options.faults().size(),
                faultSeconds,
                String.join(", ", options.faults()));
    }
}
