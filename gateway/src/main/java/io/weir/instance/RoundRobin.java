package io.weir.instance;

import io.weir.instance.Choice.Candidate;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the instances that are in one after the other, in proportion to their weights.
 *
 * <p>Instances of equal weight take turns. With different weights, turn {@code n} is the point {@code n × φ
 * mod 1} of the sum of the weights, with the golden ratio φ: these points are spread evenly at any time
 * (Knuth, The Art of Computer Programming, 6.4), so an instance of weight 3 does not get three calls in a
 * row. A turn costs one atomic increment. The weighted round-robin of nginx changes a number of each instance
 * for every call, under a lock.
 *
 * <p>The turn of an instance that is full, or that skips the turn because of its slow start, passes to the
 * next one in the sequence, and not always to the same neighbour.
 */
// Concurrency: `turns` is the only state that changes. Choices that follow each other share it.
final class RoundRobin<C extends Candidate> {

    /** 2^32 divided by the golden ratio. */
    private static final int GOLDEN = 0x9e3779b9;

    private final Choice<C> choice;
    private final List<C> candidates;
    private final AtomicInteger turns;

    RoundRobin(Choice<C> choice, AtomicInteger turns) {
        this.choice = choice;
        this.candidates = choice.candidates();
        this.turns = turns;
    }

    /** The instance for a call; null: none is in, or none has room. */
    @Nullable
    C choose(long now) {
        int count = candidates.size();
        // Each instance has about two turns; after that, probably none has room.
        for (int i = 0; i < 2 * count; i++) {
            C next = candidates.get(index(turns.getAndIncrement()));
            if (!next.isFull() && !choice.skips(next, now)) {
                return next;
            }
        }
        return null;
    }

    private int index(int turn) {
        return choice.isWeighted()
                ? choice.indexAt((int) ((Integer.toUnsignedLong(turn * GOLDEN) * choice.shareSum()) >>> 32))
                : Integer.remainderUnsigned(turn, candidates.size());
    }
}
