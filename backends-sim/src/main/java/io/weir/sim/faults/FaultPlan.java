package io.weir.sim.faults;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * What the faults that are on do to one request, in the order in which it happens.
 *
 * @param holds hangs that it waits for until they heal
 * @param delay time before the work
 * @param burn time that its thread computes before the work
 * @param ending how it goes on
 */
record FaultPlan(List<CompletableFuture<Void>> holds, Duration delay, Duration burn, Ending ending) {

    /** Nothing happens to it: most requests, so it is one object. */
    static final FaultPlan NONE = new FaultPlan(List.of(), Duration.ZERO, Duration.ZERO, new Ending.Work());

    /** How a request goes on; where several faults would end it, the first of this order does. */
    sealed interface Ending {

        /** RST, no answer. */
        record Reset() implements Ending {}

        /** This status, no work. */
        record Status(int status) implements Ending {}

        /** The work, and this share of its body. */
        record Truncated(double share) implements Ending {

            /** At least the last byte is missing. */
            int of(int length) {
                return (int) Math.min(Math.max(length - 1, 0), Math.floor(length * share));
            }
        }

        /** The work, and its body in drops. */
        record Trickled(int bytes, Duration interval) implements Ending {}

        /** The work. */
        record Work() implements Ending {}
    }

    boolean isNothing() {
        return !waits() && burn.isZero() && ending instanceof Ending.Work;
    }

    /** Whether it has to wait before the work. */
    boolean waits() {
        return !holds.isEmpty() || delay.isPositive();
    }
}
