package io.weir.perf.run;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A question that is answered by measuring. One class each, with a simulation named after the question. */
public interface Experiment {

    /** What it is called on the command line. */
    String name();

    /** What it answers; a line. */
    String question();

    /** How many steps it has, for the progress. */
    int steps(boolean quick);

    /** How long it takes, about, for the progress. */
    Duration length(boolean quick);

    /** How many processes are under test at a time: they share the cores. */
    int processes();

    /** Cores for each process under test, unless others are asked for. */
    default int cpus() {
        return 4;
    }

    /** The same asked of a gateway that runs elsewhere; empty if that makes no sense. */
    default Optional<Experiment> elsewhere() {
        return Optional.empty();
    }

    /** What is not installed here, so that the experiment has to leave something out, and how it is installed; a sentence each. */
    default List<String> missing() {
        return List.of();
    }

    /** Options of the JVMs under test, over their own defaults. */
    default List<String> jvm() {
        return List.of();
    }

    /**
     * Measures. What it has started is stopped afterwards in any case.
     *
     * @throws RunFailure if it could not be measured
     */
    void run(Bench bench) throws InterruptedException;
}
