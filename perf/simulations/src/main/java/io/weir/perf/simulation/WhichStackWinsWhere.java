package io.weir.perf.simulation;

import java.util.List;

/** Five stacks read ten records for more and more callers. None may fail: its pool of connections is smaller than the crowd, and the others wait. */
public final class WhichStackWinsWhere extends Closed {

    /** For Gatling. */
    public WhichStackWinsWhere() {
        super(round -> List.of(allSucceed(round)));
    }
}
