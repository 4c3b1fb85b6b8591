package io.weir.perf.experiment;

import io.weir.perf.result.Request;
import io.weir.perf.result.RunResult;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.LoadAssertion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Callers at fixed rates, in phases that the load and the experiment go through at the same time. */
final class PhasedLoad {

    static final String WARM_UP = RunResult.WARM_UP;
    static final String CALM = "calm";
    static final String OVERLOAD = "overload";
    static final String AFTER = "after ";

    /** The phases, in order. */
    static final class Phases {

        private record TimedPhase(String name, Duration length) {}

        private final List<TimedPhase> all = new ArrayList<>();

        Phases then(String name, Duration length) {
            all.add(new TimedPhase(name, length));
            return this;
        }

        /** A calm phase, a fault, and a phase after it. */
        Phases thenFault(Duration calm, String fault, Duration length, Duration after) {
            return then(CALM, calm).then(fault, length).then(AFTER + fault, after);
        }

        int size() {
            return all.size();
        }

        String name(int phase) {
            return all.get(phase).name();
        }

        Duration length() {
            return all.stream().map(TimedPhase::length).reduce(Duration.ZERO, Duration::plus);
        }
    }

    /** Called at the beginning of each phase. */
    interface PhaseListener {

        void phaseBegins(int phase, String name, long atMillis) throws InterruptedException;
    }

    private final ExperimentContext context;
    private final String label;
    private final Phases phases;
    private final Map<String, String> settings = new TreeMap<>();
    private final List<String> callers = new ArrayList<>();
    private final List<String> assertions = new ArrayList<>();
    private final List<Long> beginMillis = new ArrayList<>();
    private boolean binding = true;
    private List<Request> requests = List.of();

    /** A load on a URL; its callers wait for an answer for as long as the timeout. */
    PhasedLoad(ExperimentContext context, String label, String url, Duration timeout, Phases phases) {
        this.context = context;
        this.label = label;
        this.phases = phases;
        settings.put("url", url);
        settings.put("patience", Long.toString(timeout.toMillis()));
    }

    PhasedLoad callers(String name, String path, int rate) {
        return callers(name, path, rate, rate);
    }

    /** Callers with a different rate in the phase {@link #OVERLOAD}. */
    PhasedLoad callers(String name, String path, int rate, int overloadRate) {
        callers.add(name);
        settings.put(name + ".path", path);
        settings.put(name + ".rate", Integer.toString(rate));
        settings.put(name + ".overload-rate", Integer.toString(overloadRate));
        return this;
    }

    /** Requires the assertions of callers in all matching phases. */
    PhasedLoad require(Predicate<String> phase, String name, LoadAssertion... required) {
        for (int i = 0; i < phases.size(); i++) {
            if (phase.test(phases.name(i))) {
                for (LoadAssertion assertion : required) {
                    assertions.add(assertion.text(name + ": " + phases.name(i)));
                }
            }
        }
        return this;
    }

    static boolean isAfter(String phase) {
        return phase.startsWith(AFTER);
    }

    static boolean isFault(String phase) {
        return !isAfter(phase) && !phase.equals(CALM) && !phase.equals(WARM_UP);
    }

    /** Whether failed assertions fail the run; by default they do. */
    PhasedLoad binding(boolean value) {
        binding = value;
        return this;
    }

    /**
     * Runs all phases. Each calm phase begins a step with the label of the next fault; each fault is a span.
     */
    GatlingLoad.Result runFaults(String stepPrefix, Consumer<String> begin, Runnable end) throws InterruptedException {
        return run((phase, name, at) -> {
            if (name.equals(CALM)) {
                context.beginStep(at, stepPrefix + phases.name(phase + 1), "");
            } else if (isAfter(name)) {
                String fault = phases.name(phase - 1);
                end.run();
                context.span(fault, beginMillis(phase - 1), at);
            } else if (isFault(name)) {
                begin.accept(name);
            }
        });
    }

    GatlingLoad.Result run(PhaseListener listener) throws InterruptedException {
        settings.put("callers", String.join(";", callers));
        settings.put(
                "phases",
                phases.all.stream()
                        .map(phase -> phase.name() + ":" + phase.length().toMillis())
                        .collect(Collectors.joining(";")));
        GatlingLoad load = context.load(new GatlingLoad.GatlingPlan("OpenModel", label, settings, assertions, binding));
        long at = load.awaitBegin();
        context.goesOnUntil(at + phases.length().toMillis());
        for (int i = 0; i < phases.size(); i++) {
            context.sleepUntil(at);
            beginMillis.add(at);
            listener.phaseBegins(i, phases.name(i), at);
            at += phases.all.get(i).length().toMillis();
        }
        context.sleepUntil(at);
        beginMillis.add(at);
        context.endStep();
        GatlingLoad.Result result = load.awaitEnd();
        requests = result.requests();
        return result;
    }

    /** The begin of a phase, in milliseconds since the start of the run; after the last phase, its end. */
    long beginMillis(int phase) {
        return beginMillis.get(phase);
    }

    /** The planned end of a phase that has begun. */
    long endMillis(int phase) {
        return beginMillis.get(phase) + phases.all.get(phase).length().toMillis();
    }

    double seconds(int phase) {
        return (beginMillis(phase + 1) - beginMillis(phase)) / 1000.0;
    }

    /** The requests of callers that were sent in a phase, in the order of sending. */
    List<Request> requests(int phase, String name) {
        return requests.stream()
                .filter(one -> one.name().equals(name)
                        && one.atMillis() >= beginMillis(phase)
                        && one.atMillis() < beginMillis(phase + 1))
                .sorted(Comparator.comparingLong(Request::atMillis))
                .toList();
    }
}
