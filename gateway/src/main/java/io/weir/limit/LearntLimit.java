package io.weir.limit;

import io.weir.limit.Limit.Change;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The number that the rules of {@link Knee} move: its bounds, the part of the instances that take calls, and
 * the reasons for its changes. Not thread-safe, except {@link #changes}.
 */
final class LearntLimit {

    /** Rounding of shares. */
    private static final double ROUNDING = 1e-6;

    /**
     * The share of the backend's instances that take calls. All other numbers are those of these instances.
     */
    private double share = 1;

    private double min;
    private double max;
    private double initial;
    private double calls;
    private Change lastChange = Change.INITIAL;

    /** By ordinal of {@link Change}; read by other threads. */
    private final AtomicLongArray changes = new AtomicLongArray(Change.values().length);

    LearntLimit(LimitBounds bounds) {
        this.min = bounds.min();
        this.max = bounds.max();
        this.initial = bounds.initial();
        this.calls = bounds.initial();
    }

    /**
     * Changes the bounds and the share. The limit changes with the share.
     *
     * @param isUnknown whether nothing is known about the backend: then the initial limit counts
     */
    void configure(LimitBounds bounds, double nextShare, boolean isUnknown) {
        if (nextShare != share) {
            calls *= nextShare / share;
            share = nextShare;
        }
        min = Math.max(1, share * bounds.min());
        max = Math.max(1, share * bounds.max());
        initial = Math.max(1, share * bounds.initial());
        calls = lastChange == Change.INITIAL && isUnknown ? initial : clip(calls);
    }

    /** Takes another number, which is no change of its own. */
    void resume(int whole) {
        calls = clip(whole * share);
    }

    double share() {
        return share;
    }

    double min() {
        return min;
    }

    double initial() {
        return initial;
    }

    /** The exact limit of the instances that take calls. */
    double calls() {
        return calls;
    }

    /**
     * The limit of the instances that take calls; computed by {@link #partOf}, so that it equals the number
     * in force.
     */
    int part() {
        return share == 1 ? (int) (calls + 1e-9) : partOf(wholeOf(calls), share);
    }

    /** The limit if all instances took calls. */
    int whole() {
        return share == 1 ? part() : wholeOf(calls);
    }

    /** A limit of the instances that take calls, if all took calls. */
    int wholeOf(double ofShare) {
        return Math.max(1, (int) (ofShare / share + ROUNDING));
    }

    /** As {@link Knee#partOf}. */
    static int partOf(int limit, double share) {
        return Math.max(1, (int) Math.ceil(limit * share - ROUNDING));
    }

    Change lastChange() {
        return lastChange;
    }

    double clip(double value) {
        return Math.clamp(value, min, max);
    }

    void change(double next, Change reason) {
        int before = whole();
        calls = next;
        if (whole() != before) {
            lastChange = reason;
            count(reason);
        }
    }

    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    void count(Change reason) {
        changes.lazySet(reason.ordinal(), changes.get(reason.ordinal()) + 1);
    }

    /** The changes for this reason. May be called from any thread. */
    @SuppressWarnings("EnumOrdinal") // An index into an array of this process.
    long changes(Change reason) {
        return changes.get(reason.ordinal());
    }
}
