package io.weir.perf.scenario;

import io.weir.perf.result.Requests;

/** The requests before, during and after a fault, and the times of the fault. */
record Episode(Requests all, long faultAt, long healAt) {

    Requests before() {
        return all.sentBetween(0, faultAt);
    }

    Requests during() {
        return all.sentBetween(faultAt, healAt);
    }

    Requests after() {
        return all.sentBetween(healAt, Long.MAX_VALUE);
    }

    /** The time from the heal to the first success; infinite if there is none. */
    double firstAnswerMillis() {
        return all.firstSuccessAfter(healAt) - healAt;
    }
}
