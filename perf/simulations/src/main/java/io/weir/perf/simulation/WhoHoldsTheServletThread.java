package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import java.util.List;

/** Requests of two seconds at one servlet thread: where they hold it they are served one after the other, where they give it back all at once. */
public final class WhoHoldsTheServletThread extends Closed {

    private static final int JOB_MS = 2000;

    /** For Gatling. */
    public WhoHoldsTheServletThread() {
        super(round -> List.of(
                allSucceed(round),
                round.name().equals("block")
                        ? details(round.name()).responseTime().max().gte(round.callers() * JOB_MS * 95 / 100)
                        : details(round.name()).responseTime().max().lt(2 * JOB_MS)));
    }
}
