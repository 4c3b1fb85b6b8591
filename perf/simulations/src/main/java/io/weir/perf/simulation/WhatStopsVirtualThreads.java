package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import java.util.List;

/** More virtual threads than a small pool of connections can serve in its time-out: some fail, unless a semaphore lets only so many ask as there are connections. */
public final class WhatStopsVirtualThreads extends Closed {

    /** For Gatling. */
    public WhatStopsVirtualThreads() {
        super(round -> List.of(
                round.path().contains("guard=semaphore")
                        ? allSucceed(round)
                        : details(round.name()).failedRequests().count().gt(0L)));
    }
}
