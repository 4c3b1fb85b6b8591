package io.weir.perf.experiment;

import io.weir.perf.run.Experiment;
import io.weir.perf.run.Run;
import java.util.List;

/** What {@code perf/run} knows. */
public final class Experiments {

    static final List<Experiment> ALL = List.of(
            new Containment(),
            new Metastable(),
            new Recovery(),
            new Soak(),
            new LittlesLaw(),
            new SideBySide(),
            new Stacks(),
            new EventLoop(),
            new ServletBlock(),
            new TomcatKnobs(),
            new PoolSize(),
            new VirtualThreads(),
            new VirtualHikari());

    private Experiments() {}

    /** The exit code is 0 if all that has to hold does, 1 if not or if it could not be measured, 2 if the arguments are wrong. */
    public static void main(String[] args) {
        System.exit(Run.run(ALL, args));
    }
}
