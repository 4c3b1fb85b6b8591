package io.weir.engine;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.fallback.Fallback;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * What an exchange has in place of a refusal, once, on a route with a fallback: a static answer, or another backend's. It holds a permit of the
 * fallback's to the end of the exchange.
 */
final class ActiveFallback {

    private static final byte[] NOTHING = {};

    private final Exchange exchange;
    private final Fallback fallback;
    private @Nullable Refusal insteadOf;

    private ActiveFallback(Exchange exchange, Fallback fallback) {
        this.exchange = exchange;
        this.fallback = fallback;
    }

    /** Null if there is none for this reason, or none is free. */
    static @Nullable ActiveFallback take(Exchange exchange, Reason why) {
        Fallback fallback = exchange.route().fallback();
        return fallback != null && fallback.covers(why) && fallback.limit().tryAcquire()
                ? new ActiveFallback(exchange, fallback)
                : null;
    }

    /** Gives the answer, or asks for it. */
    void begin(Reason why, @Nullable String what) {
        exchange.detail = what;
        Backend other = exchange.route().fallbackBackend();
        if (fallback.isStatic() || other == null) {
            exchange.reason = why;
            exchange.fellBack = true;
            exchange.fallbackReason = why;
            answer();
            return;
        }
        insteadOf = Refusals.of(why, what, exchange.backend(), exchange.engine());
        if (isTooLate()) {
            exchange.refuse(why, what);
            return;
        }
        exchange.fellBack = true;
        exchange.fallbackReason = why;
        exchange.enter(other);
    }

    private void answer() {
        long now = exchange.now();
        byte[] body = HttpMethod.HEAD.equals(exchange.caller().method()) ? NOTHING : fallback.body();
        exchange.status = fallback.status();
        exchange.answerBytes = body.length;
        // It may be given because the deadline has passed; then it has the time that any caller has to take an answer.
        exchange.budget().extend(now, exchange.engine().limits().readIdleNanos());
        exchange.flush(now);
        exchange.caller().answer(fallback.status(), fallback.headers(), Unpooled.wrappedBuffer(body));
    }

    /** Whether another backend has no time left, or cannot be given the request's body any more. */
    private boolean isTooLate() {
        return exchange.budget().leftNanos(exchange.now()) <= 0
                || (exchange.caller().hasBody() && exchange.attempts() > 0);
    }

    /** What the caller is told if the other backend comes to nothing, too. */
    Refusal insteadOf() {
        Refusal refusal = insteadOf;
        if (refusal == null) {
            throw new IllegalStateException("a static answer comes to nothing (expected: another backend's)");
        }
        return refusal;
    }

    /** Gives the permit back, once. */
    void end() {
        fallback.limit().release();
    }
}
