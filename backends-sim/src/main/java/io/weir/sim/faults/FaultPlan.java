package io.weir.sim.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The combined effects of all active faults on one request, in the order in which they happen.
 *
 * @param holds completed when the hangs that hold the request heal
 * @param delay delay before the work
 * @param burn computing time before the work
 * @param responseFault the effect on the answer
 */
record FaultPlan(List<CompletableFuture<Void>> holds, Duration delay, Duration burn, ResponseFault responseFault) {

    /** No effect. Most requests get this plan, so it is one shared object. */
    static final FaultPlan NONE = new FaultPlan(List.of(), Duration.ZERO, Duration.ZERO, new ResponseFault.None());

    /** The effect on the answer. If several faults compete, the first in this order wins. */
    sealed interface ResponseFault {

        /** RST, no answer. */
        record ConnectionReset() implements ResponseFault {}

        /** An error status, no work. */
        record ErrorStatus(int status) implements ResponseFault {}

        /** The work, then only this share of its body. */
        record TruncatedBody(double share) implements ResponseFault {

            /** The last byte is always missing. */
            int lengthOf(int bodyLength) {
                return (int) Math.min(Math.max(bodyLength - 1, 0), Math.floor(bodyLength * share));
            }
        }

        /** The work, then its body in small parts. */
        record TrickledBody(int bytes, Duration interval) implements ResponseFault {}

        /** The work, answered normally. */
        record None() implements ResponseFault {}
    }

    boolean isEmpty() {
        return !waits() && burn.isZero() && responseFault instanceof ResponseFault.None;
    }

    /** Whether the request waits before the work. */
    boolean waits() {
        return !holds.isEmpty() || delay.isPositive();
    }
}
