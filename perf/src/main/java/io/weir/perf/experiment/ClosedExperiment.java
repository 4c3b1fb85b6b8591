package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.RunningServer;
import java.util.List;

/**
 * An experiment with a fixed number of callers: one service after the other, each with its own rounds. The
 * experiment declares them and records its figures afterwards.
 */
abstract class ClosedExperiment extends Experiment {

    abstract List<ClosedRounds> services(boolean quick);

    void prepare(ExperimentContext context) throws InterruptedException {}

    /** Called when a step begins, after its load. */
    void stepBegins(String step, RunningServer service) {}

    /** Called when a step has ended, before its load ends. */
    void stepEnds(String step, RunningServer service, ExperimentContext context) {}

    void record(List<ClosedRounds> services, ExperimentContext context) {}

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
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
