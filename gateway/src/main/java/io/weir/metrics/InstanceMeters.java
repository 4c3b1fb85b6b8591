package io.weir.metrics;

import io.weir.health.Health;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Meters of each instance of a backend that has several. A backend with one instance has none of them: its
 * own meters show that instance.
 *
 * <p>The tag {@code instance} is the address, as in the access log. A backend has at most {@value
 * #MAX_ADDRESSES} of them; what is beyond has the tag {@value #OTHERS}: its meters are sums, except the
 * latency, which is the highest one. An address keeps its tag while it stays.
 */
// Concurrency: guarded by this. A scrape reads the list of a tag, which is replaced as a whole.
final class InstanceMeters {

    /** Maximum number of addresses that have a tag of their own. */
    static final int MAX_ADDRESSES = 256;

    /** The tag of all other instances. */
    static final String OTHERS = "others";

    /** The words for the states of an instance. */
    static final List<String> STATES =
            List.of("closed", "open", "half-open", Health.DRAINED, "forced-open", "forced-closed");

    private static final double NANOS_PER_SECOND = 1e9;

    private final MeterScope scope;
    private final String backend;
    private final Map<String, Tagged> shown = new HashMap<>();

    /** The instances with one tag: one, or those that have no tag of their own. */
    private static final class Tagged {

        private volatile List<Instance> instances = List.of();

        double sum(ToDoubleFunction<Instance> figure) {
            double sum = 0;
            for (Instance instance : instances) {
                sum += figure.applyAsDouble(instance);
            }
            return sum;
        }

        double latencySeconds() {
            long highest = 0;
            for (Instance instance : instances) {
                highest = Math.max(highest, instance.lastLatencyNanos());
            }
            return highest / NANOS_PER_SECOND;
        }
    }

    /**
     * The meters of no instances yet.
     *
     * @param scope owns the meters
     * @param backend the backend's name
     */
    InstanceMeters(MeterScope scope, String backend) {
        this.scope = scope;
        this.backend = backend;
    }

    /** Shows these instances, and no others. */
    synchronized void show(Instances instances) {
        Map<String, List<Instance>> next = instances.isSingle() ? Map.of() : byTag(instances.all());
        List.copyOf(shown.keySet()).stream()
                .filter(tag -> !next.containsKey(tag))
                .forEach(this::remove);
        next.forEach((tag, tagged) -> {
            Tagged known = shown.get(tag);
            if (known == null) {
                known = new Tagged();
                known.instances = tagged;
                add(tag, known);
                shown.put(tag, known);
            } else {
                known.instances = tagged;
            }
        });
    }

    private Map<String, List<Instance>> byTag(List<Instance> all) {
        Map<String, List<Instance>> next = new LinkedHashMap<>();
        all.stream()
                .map(Instance::shownAuthority)
                .filter(shown::containsKey)
                .forEach(tag -> next.put(tag, new ArrayList<>()));
        for (Instance instance : all) {
            String tag = instance.shownAuthority();
            if (!next.containsKey(tag) && next.size() - (next.containsKey(OTHERS) ? 1 : 0) >= MAX_ADDRESSES) {
                tag = OTHERS;
            }
            next.computeIfAbsent(tag, any -> new ArrayList<>()).add(instance);
        }
        next.replaceAll((tag, tagged) -> List.copyOf(tagged));
        return next;
    }

    private void add(String tag, Tagged tagged) {
        for (String state : STATES) {
            scope.gauge(
                    BackendMeter.INSTANCE_STATE,
                    () -> tagged.sum(one -> state.equals(one.health().word()) ? 1 : 0),
                    backend,
                    tag,
                    state);
        }
        scope.gauge(
                BackendMeter.INSTANCE_WEIGHT, () -> tagged.sum(one -> one.isBackup() ? 0 : one.weight()), backend, tag);
        scope.gauge(BackendMeter.INSTANCE_IN_FLIGHT, () -> tagged.sum(Instance::inFlight), backend, tag);
        scope.counter(BackendMeter.INSTANCE_CALLS, () -> tagged.sum(Instance::answeredCalls), backend, tag, "answered");
        scope.counter(BackendMeter.INSTANCE_CALLS, () -> tagged.sum(Instance::failedCalls), backend, tag, "failed");
        scope.gauge(BackendMeter.INSTANCE_LATENCY, tagged::latencySeconds, backend, tag);
        scope.counter(
                BackendMeter.INSTANCE_EJECTIONS,
                () -> tagged.sum(one -> one.health().ejections()),
                backend,
                tag);
        scope.gauge(
                BackendMeter.INSTANCE_CONNECTIONS,
                () -> tagged.sum(one -> one.pool().acquired()),
                backend,
                tag,
                "acquired");
        scope.gauge(
                BackendMeter.INSTANCE_CONNECTIONS,
                () -> tagged.sum(one -> one.pool().idle()),
                backend,
                tag,
                "idle");
    }

    private void remove(String tag) {
        shown.remove(tag);
        STATES.forEach(state -> scope.removeGauge(BackendMeter.INSTANCE_STATE, backend, tag, state));
        scope.removeGauge(BackendMeter.INSTANCE_WEIGHT, backend, tag);
        scope.removeGauge(BackendMeter.INSTANCE_IN_FLIGHT, backend, tag);
        scope.removeGauge(BackendMeter.INSTANCE_CALLS, backend, tag, "answered");
        scope.removeGauge(BackendMeter.INSTANCE_CALLS, backend, tag, "failed");
        scope.removeGauge(BackendMeter.INSTANCE_LATENCY, backend, tag);
        scope.removeGauge(BackendMeter.INSTANCE_EJECTIONS, backend, tag);
        scope.removeGauge(BackendMeter.INSTANCE_CONNECTIONS, backend, tag, "acquired");
        scope.removeGauge(BackendMeter.INSTANCE_CONNECTIONS, backend, tag, "idle");
    }
}
