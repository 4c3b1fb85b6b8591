package io.weir.overload;

import java.time.Duration;

/**
 * Watches how much of the processors this process uses outside of its event loops. On a gateway that is
 * mostly the JVM's compilers: they compile what runs for the first time, at a cold start or with the first
 * calls of another route, and are quiet again after some seconds.
 *
 * <p>While they take a quarter of the processors, the loops are late for a reason that no refusal ends. The
 * result holds for a while after the last such span, so that the loops can work off their backlog, and for a
 * bounded time in a row: work outside of the loops that does not end is a part of the gateway's load.
 */
// Concurrency: confined to the sampler's thread.
final class OutsideWork {

    static final Duration SPAN = Duration.ofMillis(500);
    static final Duration HOLD = Duration.ofSeconds(2);
    static final Duration LONGEST = Duration.ofSeconds(60);
    /** More than collections of garbage and the writers of logs take, and less than one of three threads. */
    static final double SHARE = 0.25;

    private final ProcessorUse use;
    private final int processors;
    private boolean hasSpan;
    private long spanBeganAt;
    private long usedBefore;
    private boolean isTaking;
    private long tookAt;
    private long beganAt;

    /**
     * Nothing is known yet.
     *
     * @param processors the number of processors that the process may use
     */
    OutsideWork(ProcessorUse use, int processors) {
        this.use = use;
        this.processors = processors;
    }

    /** Takes a sample; returns whether work outside of the loops takes the processors from them. */
    boolean sample(long now) {
        if (!hasSpan) {
            beginSpan(now, use.outsideNanos());
        } else if (now - spanBeganAt >= SPAN.toNanos()) {
            long used = use.outsideNanos();
            if (used - usedBefore >= SHARE * processors * (now - spanBeganAt)) {
                tookAt = now;
                beganAt = isTaking ? beganAt : now;
                isTaking = true;
            }
            beginSpan(now, used);
        }
        isTaking &= now - tookAt < HOLD.toNanos();
        return isTaking && now - beganAt < LONGEST.toNanos();
    }

    private void beginSpan(long now, long used) {
        hasSpan = true;
        spanBeganAt = now;
        usedBefore = used;
    }
}
