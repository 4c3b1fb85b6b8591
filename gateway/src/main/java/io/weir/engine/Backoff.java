package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.body.ContentLength;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Replace;
import io.weir.engine.Decision.Retry;
import io.weir.engine.Decision.Step;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The pause between two attempts, or between an attempt and the answer that replaces the attempt's. The
 * exchange holds no permit, except while it drains the answer of the previous attempt: the backend still
 * works for that call. After a complete answer the connection is reusable.
 *
 * <p>Draining is bounded in bytes and in time. Beyond the bounds the connection is closed.
 */
final class Backoff implements ExchangePhase {

    /** The largest answer that is drained, as for an unread request. */
    static final int MAX_DRAINED_BYTES = 65_536;

    /**
     * The longest drain, from the answer's head on. A small answer arrives with its head. A longer drain
     * would cost more than a new connection: it holds a permit and delays the next attempt.
     */
    static final long MAX_DRAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private final ExchangeContext exchange;
    private final int status;
    private final long endsAt;
    private final long drainEndsAt;
    /** The attempt whose answer is being drained, with its permits; null: nothing is left to drain. */
    private @Nullable Attempt draining;

    /** The answer that follows; null: another attempt. */
    private final @Nullable Answer instead;

    private RetriedResult result = RetriedResult.Lost.LOST;

    /** A pause that has not {@linkplain #begin begun}. */
    Backoff(ExchangeContext exchange, Attempt attempt, Retry retry, long now) {
        this(exchange, attempt, retry.status(), retry.backoffNanos(), null, now);
    }

    /** The end of an attempt whose answer is replaced. It has not begun to {@linkplain #drain drain}. */
    Backoff(ExchangeContext exchange, Attempt attempt, Replace replace, long now) {
        this(exchange, attempt, replace.status(), 0, replace.instead(), now);
    }

    private Backoff(
            ExchangeContext exchange,
            Attempt attempt,
            int status,
            long backoffNanos,
            @Nullable Answer instead,
            long now) {
        this.exchange = exchange;
        this.draining = attempt;
        this.status = status;
        this.endsAt = now + backoffNanos;
        this.drainEndsAt = now + MAX_DRAIN_NANOS;
        this.instead = instead;
    }

    /** Ends the attempt, or drains its answer. Called once; the exchange is in this phase. */
    void begin(Retry retry, long now) {
        Refuse failure = retry.failure();
        if (failure != null) {
            // The opening of an instance is no result of the call, which another one might have answered.
            if (failure.reason() != Reason.CIRCUIT_OPEN) {
                result = new RetriedResult.Failed(failure);
            }
            endDrain(failure.reason(), now);
        } else {
            drain(now);
        }
    }

    /** Reads the rest of the attempt's answer, within the bounds. */
    void drain(long now) {
        Attempt attempt = draining;
        if (attempt == null) {
            return;
        }
        attempt.outcomes().markAnswered(now);
        if (isHead() || ContentLength.of(attempt.head()) <= MAX_DRAINED_BYTES) {
            attempt.drain(this, isHead() ? 0 : MAX_DRAINED_BYTES);
        } else {
            endDrain(null, now);
        }
    }

    private boolean isHead() {
        return HttpMethod.HEAD.equals(exchange.record().caller().method());
    }

    /** The answer is complete. */
    void drained(ByteBuf body, HttpHeaders trailers) {
        Attempt attempt = draining;
        if (attempt != null) {
            long now = exchange.now();
            draining = null;
            exchange.record().traceAttemptEnded(null, now);
            attempt.releaseAdmission(now);
            result = RetriedResult.of(status, attempt.head(), body, trailers, isHead());
        }
        body.release();
        exchange.rearm();
    }

    /** The answer is too large, or has broken off. */
    void drainFailed() {
        endDrain(null, exchange.now());
        exchange.rearm();
    }

    private void endDrain(@Nullable Reason why, long now) {
        Attempt attempt = draining;
        if (attempt != null) {
            draining = null;
            attempt.release(why, now);
        }
    }

    @Override
    public long dueNanos(long now) {
        return (draining == null ? endsAt : drainEndsAt) - now;
    }

    @Override
    public Decision check(long now) {
        if (draining != null) {
            if (now - drainEndsAt < 0) {
                return Step.WAIT;
            }
            endDrain(null, now);
        }
        if (now - endsAt < 0) {
            return Step.WAIT;
        }
        return instead == null ? Step.REQUEST_ADMISSION : instead;
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        endDrain(why, now);
    }

    @Override
    public RetriedResult retriedResult() {
        return result;
    }

    @Override
    public @Nullable Instance usedInstance() {
        Attempt attempt = draining;
        return attempt == null ? null : attempt.usedInstance();
    }

    /** A backoff reads the rest of an answer for a moment only. */
    @Override
    public Decision instanceGone(Pool left, long now) {
        return Step.WAIT;
    }

    @Override
    public long backendNanos(long now) {
        Attempt attempt = draining;
        return attempt == null ? 0 : attempt.backendNanos(now);
    }
}
