package io.weir.engine;

import java.util.concurrent.atomic.LongAdder;

/**
 * Who still goes by something that the configuration has made, such as a route: so that nothing is closed under anybody.
 *
 * <p>Two adders and not one counter, so that event loops do not contend for it.
 */
// Concurrency: `ended` is read before `began`. Each end is preceded by its beginning, so the two sums can only be equal
// if nobody was in at the moment at which the first had been taken. Who begins later is the asker's business: it asks
// only for what nobody new can reach.
public final class InFlightCounter {

    private final LongAdder began = new LongAdder();
    private final LongAdder ended = new LongAdder();

    /** Somebody begins to go by it; {@link #ended} must follow exactly once. */
    public void began() {
        began.increment();
    }

    /** Somebody is through with it. */
    public void ended() {
        ended.increment();
    }

    /** Whether nobody goes by it; final once nobody new can come. */
    public boolean isOver() {
        long out = ended.sum();
        return began.sum() == out;
    }
}
