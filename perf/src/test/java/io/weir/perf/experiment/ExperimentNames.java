package io.weir.perf.experiment;

/** The experiments, for tests of other packages. */
public final class ExperimentNames {

    private ExperimentNames() {}

    /** The number of experiments that a kept set may have. */
    public static int count() {
        return Experiments.all().size();
    }
}
