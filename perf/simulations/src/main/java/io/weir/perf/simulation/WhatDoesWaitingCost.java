package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import java.util.List;

/** A hundred callers of a service that asks two others, 200 ms each: nobody is refused, and nobody is answered sooner than the two can answer. */
public final class WhatDoesWaitingCost extends Closed {

    private static final int ONE_MS = 200;

    /** For Gatling. */
    public WhatDoesWaitingCost() {
        super(round -> List.of(
                allSucceed(round),
                details(round.name())
                        .responseTime()
                        .min()
                        .gte(round.path().contains("parallel=true") ? ONE_MS : 2 * ONE_MS)));
    }
}
