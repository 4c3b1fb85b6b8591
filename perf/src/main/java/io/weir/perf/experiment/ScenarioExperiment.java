package io.weir.perf.experiment;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.PromiseTable.Promise;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.RunFailure;
import io.weir.perf.scenario.Scenario;

/**
 * A scenario of {@code perf/scenario} as an experiment: the same code, with a page, the rows of all requests,
 * and each promise as an assertion. The backends share the process of the load, and the gateway has the cores
 * that the scenario gives it.
 */
abstract class ScenarioExperiment extends Experiment {

    private final String scenario;
    private final int quickWarmUpSeconds;
    private final int fullWarmUpSeconds;

    /** The seconds of warm-up are those of the scenario before its first judged load. */
    ScenarioExperiment(String scenario, int quickWarmUpSeconds, int fullWarmUpSeconds) {
        this.scenario = scenario;
        this.quickWarmUpSeconds = quickWarmUpSeconds;
        this.fullWarmUpSeconds = fullWarmUpSeconds;
    }

    /** A scenario that judges its load from the start of the gateway on. */
    ScenarioExperiment(String scenario) {
        this(scenario, 0, 0);
    }

    @Measures(
            name = "overload-untuned",
            question = "limits that nobody has set, at five capacities: goodput, age of answers, refusals when calm?",
            quickMinutes = 1,
            fullMinutes = 18)
    static final class OverloadUntuned extends ScenarioExperiment {
        OverloadUntuned() {
            super("limit", 8, 8);
        }
    }

    @Measures(
            name = "instances",
            question = "one, two or all of three instances are in trouble: do the others serve the callers?",
            quickMinutes = 1,
            fullMinutes = 20)
    static class Instances extends ScenarioExperiment {
        Instances() {
            super("instances", 4, 10);
        }
    }

    @Measures(
            name = "own-overload",
            question = "twice what one core can forward, warm and just after the start: what is answered?",
            quickMinutes = 3,
            fullMinutes = 7)
    static final class OwnOverload extends ScenarioExperiment {
        OwnOverload() {
            super("own-overload");
        }
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        context.warmsUpFor(context.quick() ? quickWarmUpSeconds : fullWarmUpSeconds);
        context.property(
                "limit.sentence",
                "The scenario starts the gateway by itself: all processes share the host's cores, unless it binds them."
                        + " The load and the backends are one process. Compare only within this run.");
        context.note("Measured by the code of perf/scenario " + scenario + ".");
        try {
            record(measure(context), context);
        } catch (InterruptedException | RunFailure e) {
            throw e;
        } catch (Exception e) {
            throw new RunFailure(scenario + ": " + e, e);
        }
    }

    /** Runs the scenario. */
    PromiseTable measure(ExperimentContext context) throws Exception {
        return context.ownLoad(
                scenario,
                () -> Scenario.promises(
                        scenario,
                        context.file("gateway/target/weir-gateway.jar"),
                        context.file("config/local.yml"),
                        context.quick()));
    }

    static void record(PromiseTable promises, ExperimentContext context) {
        for (Promise promise : promises.rows()) {
            String expected = promise.promised().isEmpty() ? "" : ": " + promise.promised();
            context.require(promise.text() + expected, promise.holds(), promise.measured());
        }
    }
}
