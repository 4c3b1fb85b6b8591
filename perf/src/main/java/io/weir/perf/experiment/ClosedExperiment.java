package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.RunningServer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An experiment with a fixed number of callers: one service after the other, each with its own rounds. The
 * experiment declares them and records its figures afterwards.
 */
abstract class ClosedExperiment extends Experiment {

    private final Map<String, Double> before = new HashMap<>();

    abstract List<ClosedRounds> services(boolean quick);

    void prepare(ExperimentContext context) throws InterruptedException {}

    /** The service's counters whose growth in each step is a fact, by the name of the fact. */
    Map<String, String> counters() {
        return Map.of();
    }

    /** Called when a step begins, after its load. */
    final void stepBegins(RunningServer service) {
        counters().forEach((fact, counter) -> before.put(fact, service.metric(counter)));
    }

    /** Called when a step has ended, before its load ends; not for the warm-up. */
    void stepEnds(String step, RunningServer service, ExperimentContext context) {
        counters()
                .forEach((fact, counter) ->
                        context.fact(step + '.' + fact, service.metric(counter) - before.getOrDefault(fact, 0.0), ""));
    }

    void record(List<ClosedRounds> services, ExperimentContext context) {}

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        context.property("load.question", "callers");
        prepare(context);
        List<ClosedRounds> services = services(context.quick());
        for (ClosedRounds rounds : services) {
            RunningServer service = rounds.start(context.servers());
            rounds.run(service, this, context);
            context.stop(service);
        }
        record(services, context);
    }
}
