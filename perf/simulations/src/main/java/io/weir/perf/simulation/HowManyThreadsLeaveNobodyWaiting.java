package io.weir.perf.simulation;

import java.util.List;

/** Ten callers at a pool of one, four and eight threads, with a queue long enough for all: nobody is refused. How long they wait is in the pool's own figures. */
public final class HowManyThreadsLeaveNobodyWaiting extends Closed {

    /** For Gatling. */
    public HowManyThreadsLeaveNobodyWaiting() {
        super(round -> List.of(allSucceed(round)));
    }
}
