package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import java.util.List;

/** A hundred callers of a service that takes 100 ms, which serves them with one thread that nobody holds: they are not to wait for each other. */
public final class DoesOneEventLoopDoWhatOneThreadDoes extends Closed {

    /** One after the other, the hundred would wait ten seconds. */
    private static final int NOT_QUEUED_MS = 1000;

    /** For Gatling. */
    public DoesOneEventLoopDoWhatOneThreadDoes() {
        super(round -> List.of(
                allSucceed(round),
                details(round.name()).responseTime().percentile(90).lt(NOT_QUEUED_MS)));
    }
}
