package io.weir.perf.experiment;

import io.weir.perf.result.PromiseTable;
import io.weir.perf.result.PromiseTable.Promise;
import io.weir.perf.run.Experiment;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.MeasuredTables;
import io.weir.perf.scenario.Scenario;
import java.util.ArrayList;
import java.util.List;

/**
 * A scenario of {@code perf/scenario} as an experiment: the same code, with a page, the rows of all requests,
 * and each promise as an assertion. The backends share the process of the load, and the gateway has the cores
 * that the scenario gives it.
 */
abstract class ScenarioExperiment extends Experiment {

    private static final String TEN_WORKERS =
            "a backend with ten workers of 50 ms and a queue of its own behind each; 800 ms for a call; for HAProxy"
                    + " and Envoy ten concurrent calls, for Weir none: it finds its limit";

    @Measures(
            name = "overload-untuned",
            question = "limits that nobody has set, at five capacities: goodput, age of answers, refusals when calm?",
            quickMinutes = 2,
            fullMinutes = 35)
    static final class OverloadUntuned extends ScenarioExperiment {
        @Override
        String scenario() {
            return "limit";
        }

        @Override
        void describe(ExperimentContext context) {
            compare(
                    context,
                    "a backend with workers and a queue of its own behind each; 800 ms for a call; for HAProxy and"
                            + " weir-fixed 64 concurrent calls, for Weir and Envoy none: they find their limits",
                    "weir",
                    "weir-fixed");
        }
    }

    @Measures(
            name = "instances",
            question = "one, two or all of three instances are in trouble: do the others serve the callers?",
            quickMinutes = 1,
            fullMinutes = 20)
    static class Instances extends ScenarioExperiment {
        @Override
        int warmUpSeconds(boolean quick) {
            return quick ? 4 : 10;
        }

        @Override
        void describe(ExperimentContext context) {
            compare(context, "the same instances; 800 ms for a call; the ejection that each has", "weir");
        }
    }

    @Measures(
            name = "own-overload",
            question = "twice what one core can forward, warm and just after the start: what is answered?",
            quickMinutes = 3,
            fullMinutes = 7)
    static final class OwnOverload extends ScenarioExperiment {
        @Override
        int warmUpSeconds(boolean quick) {
            return 0;
        }

        @Override
        void describe(ExperimentContext context) {
            context.property("load.model", "paced");
            context.note("paced: each of 500 callers sends at a fixed rate, but not while its request is unanswered."
                    + " How late they were is not known. No other proxy refuses by the delay of its event loops.");
        }
    }

    @Measures(
            name = "priorities",
            question = "critical, normal, sheddable at 4 x the capacity, and a hang: who is answered?",
            quickMinutes = 3,
            fullMinutes = 6)
    static final class Priorities extends ScenarioExperiment {
        @Override
        void describe(ExperimentContext context) {
            compare(context, TEN_WORKERS, "weir", "unclassified");
            context.note("unclassified: Weir with the same load, without classes. HAProxy orders its queue by class,"
                    + " strictly; nothing is kept for the lowest class. Envoy has two classes, each with connections"
                    + " and a queue of its own: critical calls are HIGH, all others DEFAULT.");
        }
    }

    @Measures(
            name = "tenants",
            question = "one tenant with 70 % of 4 x the capacity, or all of it; a million names: who is answered?",
            quickMinutes = 2,
            fullMinutes = 12)
    static final class Tenants extends ScenarioExperiment {
        @Override
        void describe(ExperimentContext context) {
            compare(context, TEN_WORKERS, "weir");
            context.note("HAProxy and Envoy know no shares: each tenant has a rate of 60/s, which fits this load."
                    + " The names are sent to Weir alone, and are no rows.");
        }
    }

    /** The name of the scenario; by default that of the experiment. */
    String scenario() {
        return name();
    }

    /** The warm-up before the scenario's first judged load; 0: it judges the start of the gateway, too. */
    int warmUpSeconds(boolean quick) {
        return 8;
    }

    /** Adds what the page needs besides the promises. */
    void describe(ExperimentContext context) {}

    /** The gateway and the other proxies that are installed, side by side. */
    static void compare(ExperimentContext context, String limits, String... fronts) {
        List<String> all = new ArrayList<>(List.of(fronts));
        Scenario.installedPeers().forEach(peer -> all.add(peer.label()));
        context.property("compare", String.join(",", all));
        context.property("panels", String.join(",", all));
        context.property("limits", limits);
    }

    @Override
    public void run(ExperimentContext context) throws InterruptedException {
        context.warmsUpFor(warmUpSeconds(context.quick()));
        context.property(
                "limit.sentence",
                "The scenario starts the gateway by itself: all processes share the host's cores, unless it binds them."
                        + " The load and the backends are one process. Compare only within this run.");
        context.note("Measured by the code of perf/scenario " + scenario() + ".");
        PromiseTable promises = measure(context);
        describe(context);
        record(promises, context);
        if (!context.quick()) {
            MeasuredTables.keep(scenario(), "perf/run " + name() + " --full", promises);
        }
    }

    /** The parts of a scenario as steps; hangs are shaded in plots. */
    private static final class ScenarioSteps {

        private static final String HANG = ": hang";
        private final ExperimentContext context;
        private String present = "";
        private long since;

        ScenarioSteps(ExperimentContext context) {
            this.context = context;
        }

        void begin(String step) {
            long now = context.nowMillis();
            if (present.endsWith(HANG)) {
                context.span("hang", since, now);
            }
            context.beginStep(now, step, "");
            present = step;
            since = now;
        }
    }

    PromiseTable measure(ExperimentContext context) throws InterruptedException {
        return context.ownLoad(
                scenario(),
                () -> Scenario.promises(
                        scenario(),
                        context.file("gateway/target/weir-gateway.jar"),
                        context.file("config/local.yml"),
                        context.quick(),
                        new ScenarioSteps(context)::begin));
    }

    static void record(PromiseTable promises, ExperimentContext context) {
        for (Promise promise : promises.rows()) {
            String expected = promise.promised().isEmpty() ? "" : ": " + promise.promised();
            context.require(promise.text() + expected, promise.holds(), promise.measured());
        }
        promises.facts().forEach(fact -> context.fact(fact.name(), fact.value(), fact.unit()));
    }
}
