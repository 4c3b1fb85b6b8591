package io.weir.hedge;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Decides after what time a call of a route is sent a second time. Thread-safe. */
public final class HedgePolicy {

    /** The time is not known yet. */
    public static final long UNKNOWN = 0;

    private final boolean isEnforced;
    private final @Nullable Duration fixed;
    private final AnswerTimes times;

    private HedgePolicy(HedgeProperties properties, AnswerTimes times) {
        this.isEnforced = properties.enforce();
        this.fixed = properties.after().duration();
        this.times = times;
    }

    /**
     * The policy of a route.
     *
     * @param old the route's policy before a reload, at the same backend: what it has learnt remains true;
     *     null: none
     */
    public static HedgePolicy of(HedgeProperties properties, @Nullable HedgePolicy old) {
        return new HedgePolicy(properties, old == null ? new AnswerTimes() : old.times);
    }

    /** Whether calls are sent a second time; if not, they are only counted. */
    public boolean isEnforced() {
        return isEnforced;
    }

    /** The time after which a call is sent a second time; {@link #UNKNOWN}: too few answers have come. */
    public long afterNanos() {
        return fixed == null ? times.p95Nanos() : fixed.toNanos();
    }

    /**
     * Records a good answer.
     *
     * @param headNanos the time from the start of the call's first attempt to the head of the answer, also if
     *     the second attempt has answered
     */
    public void answered(long headNanos, long now) {
        if (fixed == null) {
            times.record(headNanos, now);
        }
    }
}
