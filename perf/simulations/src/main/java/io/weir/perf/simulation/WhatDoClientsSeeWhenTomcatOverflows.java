package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import java.util.List;

/**
 * 150 callers who keep their connections: as long as all have one, nearly all are served, since of more connections than threads Tomcat lets one or the other wait for long;
 * those for whom there is none get nothing.
 */
public final class WhatDoClientsSeeWhenTomcatOverflows extends Closed {

    /** For Gatling. */
    public WhatDoClientsSeeWhenTomcatOverflows() {
        super(round -> List.of(
                round.callers() <= connections(round)
                        ? details(round.name()).successfulRequests().percent().gte(99.0)
                        : details(round.name()).failedRequests().count().gt(0L),
                details(round.name()).successfulRequests().count().gt(0L)));
    }

    /** A round is called by its three settings. */
    private static int connections(Round round) {
        return Integer.parseInt(round.name().split("-", -1)[1]);
    }
}
