package io.weir.metrics;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A counter or timer whose series exist from its first use on. Most of many backends are idle, and a timer
 * has 17 series.
 */
// Concurrency: two threads that create the meter get the same one; the order of their writes does not matter.
final class FirstUse<M> {

    private final Supplier<@Nullable M> creation;
    private volatile @Nullable M meter;

    /**
     * A meter that is not in use yet.
     *
     * @param creation creates it, or finds it if it exists; null: its scope is closed
     */
    FirstUse(Supplier<@Nullable M> creation) {
        this.creation = creation;
    }

    /** The meter, which is created if need be; null: its scope is closed. */
    @Nullable
    M get() {
        M known = meter;
        if (known == null) {
            known = creation.get();
            meter = known;
        }
        return known;
    }

    /** The meter; null: it has not been used. */
    @Nullable
    M ifUsed() {
        return meter;
    }
}
