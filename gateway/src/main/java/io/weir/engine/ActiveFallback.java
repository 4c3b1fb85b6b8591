package io.weir.engine;

import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.AskFallback;
import io.weir.engine.Decision.Refuse;
import io.weir.fallback.Fallback;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * The fallback in use, in place of a refusal: a static answer, or the answer of another backend. At most one
 * per exchange. It holds a permit of the fallback until the exchange ends.
 */
final class ActiveFallback {

    private final ExchangeContext exchange;
    private final Fallback fallback;
    private @Nullable Refuse original;
    private @Nullable Refusal originalRefusal;

    private ActiveFallback(ExchangeContext exchange, Fallback fallback) {
        this.exchange = exchange;
        this.fallback = fallback;
    }

    /**
     * Takes a permit of the route's fallback. Null: the route has no fallback for this reason, or its limit
     * is reached.
     */
    static @Nullable ActiveFallback take(ExchangeContext exchange, Reason why) {
        Fallback fallback = exchange.record().route().fallback();
        return fallback != null && fallback.covers(why) && fallback.limit().tryAcquire()
                ? new ActiveFallback(exchange, fallback)
                : null;
    }

    /** Whether the route's fallback is another backend. */
    static boolean asksBackend(Route route) {
        Fallback fallback = route.fallback();
        return fallback != null && !fallback.isStatic() && route.fallbackBackend() != null;
    }

    /** Decides how the fallback replaces the refusal. */
    Decision begin(Refuse refuse, long now) {
        ExchangeRecord record = exchange.record();
        record.detail = refuse.detail();
        Backend other = record.route().fallbackBackend();
        if (fallback.isStatic() || other == null) {
            record.reason = refuse.reason();
            record.replacement = Replacement.byStaticAnswer(refuse.reason());
            return Answer.of(fallback.answer(), record.caller());
        }
        original = refuse;
        originalRefusal = Refusals.of(refuse, record, exchange.resources());
        if (isTooLate(now)) {
            return refuse;
        }
        record.replacement = Replacement.byOtherBackend(refuse.reason());
        record.leaveInstances();
        return new AskFallback(other);
    }

    /** Whether the other backend has no time left, or cannot receive the request's body any more. */
    private boolean isTooLate(long now) {
        return exchange.timer().leftNanos(now) <= 0
                || (exchange.record().caller().hasBody() && exchange.record().attempts() > 0);
    }

    /** The decision that the other backend's answer replaces. */
    Refuse original() {
        Refuse refuse = original;
        if (refuse == null) {
            throw new IllegalStateException("a static fallback was refused (expected: the fallback of a backend)");
        }
        return refuse;
    }

    /** The refusal that the caller gets if the other backend fails or refuses, too. */
    Refusal originalRefusal() {
        Refusal refusal = originalRefusal;
        if (refusal == null) {
            throw new IllegalStateException("a static fallback was refused (expected: the fallback of a backend)");
        }
        return refusal;
    }

    /** Returns the permit. Called once. */
    void release() {
        fallback.limit().release();
    }
}
