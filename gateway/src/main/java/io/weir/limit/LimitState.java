package io.weir.limit;

import java.util.function.DoubleSupplier;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What is set from outside, and the limit that follows from it.
 *
 * @param limit the limit that follows from the settings
 * @param learning the adaptive limit, which is kept while a fixed one is in force; null if there has been
 *     none
 * @param isFixedByOperator whether a fixed limit is shown as an operator's
 */
record LimitState(
        LimitSettings settings,
        Limit limit,
        @Nullable Limit learning,
        int operatorLimit,
        boolean isFixedByOperator,
        Ceiling ceiling) {

    /** No limit by an operator, and no ceiling. */
    static final int NONE = Integer.MAX_VALUE;

    /** Where the ceiling and the share come from: {@link LimitInForce#limitBy}. */
    record Ceiling(IntSupplier calls, DoubleSupplier share) {}

    LimitState(LimitSettings settings, Limit limit, @Nullable Limit learning) {
        this(settings, limit, learning, NONE, false, new Ceiling(() -> NONE, () -> 1));
    }

    LimitState withSettings(LimitSettings other, Limit following) {
        Limit learns = other.isAdaptive() ? following : learning;
        return new LimitState(other, following, learns, operatorLimit, isFixedByOperator, ceiling);
    }

    LimitState withOperatorLimit(int other) {
        return new LimitState(settings, limit, learning, other, isFixedByOperator, ceiling);
    }

    LimitState fixedByOperator(boolean isOperators) {
        return new LimitState(settings, limit, learning, operatorLimit, isOperators, ceiling);
    }

    LimitState below(Ceiling other) {
        return new LimitState(settings, limit, learning, operatorLimit, isFixedByOperator, other);
    }

    /** The limit and an operator's, apart from the ceiling. */
    int permits() {
        return settings.isAdaptive() || operatorLimit == NONE ? Math.min(limit.value(), operatorLimit) : operatorLimit;
    }

    /** Whether the calls in flight show the effect of this limit. */
    boolean isLowest(Limit one) {
        return one.value() <= operatorLimit && one.isBelow(ceiling.calls.getAsInt(), ceiling.share);
    }
}
