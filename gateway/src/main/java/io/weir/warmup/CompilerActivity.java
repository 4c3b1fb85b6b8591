package io.weir.warmup;

import java.time.Duration;

/**
 * Decides whether the JVM's compilers are quiet. They are if they have used little time in each of the last
 * {@value #QUIET_SPANS} spans of a second, and had enough calls before to find what they have to compile: a
 * method that runs once in a call reaches the second compiler only after thousands of calls, and between the
 * compilers the queue is empty for a while.
 */
// Concurrency: confined to the thread of the warm-up.
final class CompilerActivity {

    static final Duration SPAN = Duration.ofSeconds(1);
    static final int QUIET_SPANS = 2;
    /** Less is what a warm gateway compiles now and then. */
    static final double QUIET_SHARE = 0.1;

    private final long callsMin;
    private long spanBeganAt;
    private long millisBefore;
    private int quietSpans;
    private double share;

    /**
     * Compilers that have worked until now.
     *
     * @param callsMin the calls before which nothing counts as quiet
     * @param compiledMillis the time that the compilers have used until now
     */
    CompilerActivity(long callsMin, long nowNanos, long compiledMillis) {
        this.callsMin = callsMin;
        this.spanBeganAt = nowNanos;
        this.millisBefore = compiledMillis;
    }

    /**
     * Looks at the compilers.
     *
     * @param calls the calls until now
     * @param compiledMillis the time that the compilers have used until now
     * @return whether they are quiet
     */
    boolean isQuiet(long nowNanos, long calls, long compiledMillis) {
        long spanNanos = nowNanos - spanBeganAt;
        if (spanNanos >= SPAN.toNanos()) {
            share = Duration.ofMillis(compiledMillis - millisBefore).toNanos() / (double) spanNanos;
            quietSpans = share < QUIET_SHARE && calls >= callsMin ? quietSpans + 1 : 0;
            spanBeganAt = nowNanos;
            millisBefore = compiledMillis;
        }
        return quietSpans >= QUIET_SPANS;
    }

    /** The part of the last span in which the compilers worked; 2: both of two worked all the time. */
    double share() {
        return share;
    }
}
