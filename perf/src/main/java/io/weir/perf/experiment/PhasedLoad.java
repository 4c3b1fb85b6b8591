package io.weir.perf.experiment;

import io.weir.perf.result.Requests;
import io.weir.perf.result.RunResult;
import io.weir.perf.run.ExperimentContext;
import io.weir.perf.run.GatlingLoad;
import io.weir.perf.run.LoadAssertion;
import io.weir.perf.run.RunningServer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Callers at fixed rates, in phases that the load and the experiment go through at the same time. */
final class PhasedLoad {

    static final String CALM = "calm";
    static final String OVERLOAD = "overload";
    private static final String AFTER = "after ";
    private static final int MAX_HEAL_DELAY_MILLIS = 1000;

    private record TimedPhase(String name, int seconds) {}

    private record CallersPlan(String name, String path, int rate, int overloadRate, boolean exponential) {}

    /** The phases, in order; the first one is the warm-up. */
    static final class Phases {
        private final List<TimedPhase> all = new ArrayList<>();

        Phases(int warmUpSeconds) {
            then(RunResult.WARM_UP, warmUpSeconds);
        }

        Phases then(String name, int seconds) {
            all.add(new TimedPhase(name, seconds));
            return this;
        }

        Phases thenFault(int calmSeconds, String fault, int seconds, int afterSeconds) {
            return then(CALM, calmSeconds).then(fault, seconds).then(AFTER + fault, afterSeconds);
        }

        int size() {
            return all.size();
        }

        boolean contains(String name) {
            return all.stream().anyMatch(phase -> phase.name().equals(name));
        }

        String name(int phase) {
            return all.get(phase).name();
        }

        int[] faults() {
            return IntStream.range(0, size()).filter(i -> isFault(name(i))).toArray();
        }

        int seconds() {
            return all.stream().mapToInt(TimedPhase::seconds).sum();
        }
    }

    interface PhaseListener {
        void phaseBegins(int phase, String name, long atMillis) throws InterruptedException;
    }

    private final ExperimentContext context;
    private final String label;
    private final Phases phases;
    private final String url;
    private final int timeoutSeconds;
    private final List<CallersPlan> callers = new ArrayList<>();
    private final List<LoadAssertion> assertions = new ArrayList<>();
    private final List<Long> beginMillis = new ArrayList<>();
    private final Map<Integer, Long> healMillis = new HashMap<>();
    private boolean binding = true;
    private boolean exponential;
    private IntSupplier healDelayMillis = () -> 0;
    private Requests requests = new Requests(List.of());

    /** A load on a URL; its callers wait for an answer for as long as the timeout. */
    PhasedLoad(ExperimentContext context, String label, String url, int timeoutSeconds, Phases phases) {
        this.context = context;
        this.label = label;
        this.phases = phases;
        this.url = url;
        this.timeoutSeconds = timeoutSeconds;
    }

    PhasedLoad callers(String name, String path, int rate) {
        return callers(name, path, rate, rate);
    }

    PhasedLoad callers(String name, String path, int rate, int overloadRate) {
        callers.add(new CallersPlan(name, path, rate, overloadRate, exponential));
        return this;
    }

    /** The times between arrivals are exponential, so that requests queue; of callers added from now on. */
    PhasedLoad exponential() {
        exponential = true;
        return this;
    }

    /** Faults heal up to a second after their phase, at random: between two probes, for instance. */
    PhasedLoad healAtRandom(long seed) {
        Random random = new Random(seed);
        healDelayMillis = () -> random.nextInt(MAX_HEAL_DELAY_MILLIS);
        return this;
    }

    PhasedLoad require(Predicate<String> phase, String name, List<LoadAssertion> required) {
        for (TimedPhase one : phases.all) {
            if (phase.test(one.name())) {
                required.forEach(assertion -> assertions.add(assertion.of(name + ": " + one.name())));
            }
        }
        return this;
    }

    static boolean isAfter(String phase) {
        return phase.startsWith(AFTER);
    }

    static boolean isFault(String phase) {
        return !isAfter(phase) && !phase.equals(CALM) && !phase.equals(RunResult.WARM_UP);
    }

    /** Whether failed assertions fail the run; by default they do. */
    PhasedLoad binding(boolean value) {
        binding = value;
        return this;
    }

    /**
     * Runs all phases. Each calm phase begins a step with the label of the next fault; each fault is a span.
     * A fault that is an empty text is made by the load.
     */
    GatlingLoad.Result runFaults(String stepPrefix, RunningServer backend, UnaryOperator<String> faults)
            throws InterruptedException {
        return run((phase, name, at) -> {
            if (name.equals(CALM)) {
                context.beginStep(at, stepPrefix + phases.name(phase + 1), "");
            } else if (isAfter(name)) {
                context.sleepUntil(at + healDelayMillis.getAsInt());
                long heals = context.nowMillis();
                backend.heal();
                healMillis.put(phase - 1, heals);
                context.span(phases.name(phase - 1), beginMillis(phase - 1), heals);
            } else if (isFault(name) && !faults.apply(name).isEmpty()) {
                backend.setFault(faults.apply(name));
            }
        });
    }

    GatlingLoad.Result run(PhaseListener listener) throws InterruptedException {
        Map<String, ?> settings =
                Map.of("url", url, "timeoutMillis", 1000 * timeoutSeconds, "callers", callers, "phases", phases.all);
        context.warmsUpFor(phases.all.getFirst().seconds());
        GatlingLoad load = context.load(new GatlingLoad.GatlingPlan("OpenModel", label, settings, assertions, binding));
        beginMillis.add(load.awaitBegin());
        context.goesOnUntil(beginMillis(0) + 1000L * phases.seconds());
        for (int i = 0; i < phases.size(); i++) {
            listener.phaseBegins(i, phases.name(i), beginMillis(i));
            beginMillis.add(endMillis(i));
            context.sleepUntil(endMillis(i));
        }
        context.endStep();
        GatlingLoad.Result result = load.awaitEnd();
        requests = result.requests();
        return result;
    }

    /** The begin of a phase, in milliseconds since the start of the run; after the last phase, its end. */
    long beginMillis(int phase) {
        return beginMillis.get(phase);
    }

    long endMillis(int phase) {
        return beginMillis(phase) + 1000L * seconds(phase);
    }

    long healMillis(int fault) {
        return healMillis.getOrDefault(fault, endMillis(fault));
    }

    int seconds(int phase) {
        return phases.all.get(phase).seconds();
    }

    /** The requests of callers that were sent in a phase, in the order of sending. */
    Requests requests(int phase, String name) {
        return requests.sentBetween(beginMillis(phase), endMillis(phase))
                .where(one -> one.name().equals(name));
    }
}
