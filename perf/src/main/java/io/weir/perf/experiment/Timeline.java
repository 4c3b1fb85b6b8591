package io.weir.perf.experiment;

import io.weir.perf.run.Bench;
import io.weir.perf.run.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Phases one after the other, which the load and the experiment go through at the same times. */
final class Timeline {

    static final String WARM_UP = Bench.WARM_UP;
    static final String CALM = "calm";
    static final String OVERLOAD = "overload";
    static final String AFTER = "after ";

    private final List<Phase> phases = new ArrayList<>();
    private final List<Long> begins = new ArrayList<>();

    private record Phase(String name, Duration length) {}

    /** What is done when a phase begins. */
    interface OnPhase {

        /** The phase of that number has begun at that time. */
        void begins(int phase, String name, long at) throws InterruptedException;
    }

    Timeline then(String name, Duration length) {
        phases.add(new Phase(name, length));
        return this;
    }

    int size() {
        return phases.size();
    }

    String name(int phase) {
        return phases.get(phase).name();
    }

    Duration length() {
        return phases.stream().map(Phase::length).reduce(Duration.ZERO, Duration::plus);
    }

    /** As simulations read it. */
    String plan() {
        return phases.stream()
                .map(phase -> phase.name() + ":" + phase.length().toMillis())
                .collect(Collectors.joining(";"));
    }

    /** Goes through it from the load's begin on, to its end. */
    void follow(Bench bench, long begin, OnPhase each) throws InterruptedException {
        bench.goesOnUntil(begin + length().toMillis());
        long at = begin;
        for (int i = 0; i < phases.size(); i++) {
            bench.sleepUntil(at);
            begins.add(at);
            each.begins(i, phases.get(i).name(), at);
            at += phases.get(i).length().toMillis();
        }
        bench.sleepUntil(at);
        begins.add(at);
        bench.endStep();
    }

    /** When a phase began, in milliseconds since the run did; of the number behind the last: when that ended. */
    long begin(int phase) {
        return begins.get(phase);
    }

    /** When a phase ends that has begun. */
    long endOf(int phase) {
        return begins.get(phase) + phases.get(phase).length().toMillis();
    }

    /** The requests of that name that were sent in a phase, the first first. */
    List<Request> in(int phase, String name, List<Request> all) {
        return all.stream()
                .filter(one -> one.name().equals(name)
                        && one.atMillis() >= begins.get(phase)
                        && one.atMillis() < begins.get(phase + 1))
                .sorted((one, other) -> Long.compare(one.atMillis(), other.atMillis()))
                .toList();
    }
}
