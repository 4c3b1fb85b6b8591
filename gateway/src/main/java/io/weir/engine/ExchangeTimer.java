package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.deadline.CallerTimeout;
import io.weir.deadline.Deadline;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The deadline of an exchange, and its only timer. The timer fires no later than the next moment at which
 * something is due.
 *
 * <p>A deadline that is not enforced is only counted, at the moment at which it would have ended the
 * exchange. A second deadline of {@value #UNENFORCED_MINUTES} minutes ends the exchange, so that nothing is
 * held forever.
 */
final class ExchangeTimer implements Runnable {

    private static final long UNENFORCED_MINUTES = 10;
    private static final long UNENFORCED_NANOS = TimeUnit.MINUTES.toNanos(UNENFORCED_MINUTES);

    private final ExchangeContext exchange;
    private Deadline deadline;
    private boolean countsExpiry;
    private @Nullable ScheduledFuture<?> scheduled;
    private long scheduledAt;

    ExchangeTimer(ExchangeContext exchange) {
        this.exchange = exchange;
        this.countsExpiry = !isEnforced();
        this.deadline = Deadline.of(exchange.record().arrivedAtNanos(), configuredNanos(), CallerTimeout.NONE);
    }

    /**
     * Shortens the deadline to the time that the caller grants.
     *
     * @throws IllegalArgumentException if the caller's time-out is malformed
     */
    void shorten(HttpHeaders head) {
        long callerNanos = CallerTimeout.read(head);
        if (callerNanos != CallerTimeout.NONE) {
            deadline = Deadline.of(exchange.record().arrivedAtNanos(), configuredNanos(), callerNanos);
        }
    }

    /** Shortens the deadline of a call on behalf of an exchange to the time that the exchange has left. */
    void shorten(long leftNanos) {
        deadline = Deadline.of(exchange.record().arrivedAtNanos(), configuredNanos(), leftNanos);
    }

    /**
     * Grants time for a fallback's answer, which is often given because the deadline has passed. The caller
     * then has the same time to read it as any other caller.
     */
    void extend(long now, long nanos) {
        deadline = new Deadline(now + nanos, false);
    }

    Deadline deadline() {
        return deadline;
    }

    /** Time left until the deadline; zero or negative: the deadline has passed. */
    long leftNanos(long now) {
        return deadline.leftNanos(now);
    }

    /** Whether a deadline that is not enforced has passed. True only once. */
    boolean wouldHaveExpired(long now) {
        if (countsExpiry && countedExpiryNanos(now) <= 0) {
            countsExpiry = false;
            return true;
        }
        return false;
    }

    /**
     * Time until the deadline.
     *
     * @param isBounded whether the deadline applies to the exchange's current phase
     */
    long dueNanos(long now, boolean isBounded) {
        long due = isBounded ? leftNanos(now) : Long.MAX_VALUE;
        return countsExpiry ? Math.min(due, countedExpiryNanos(now)) : due;
    }

    /** Ensures that {@link ExchangeContext#timePassed} is called no later than in this time. */
    void arm(long now, long dueNanos) {
        long dueAt = now + dueNanos;
        ScheduledFuture<?> earlier = scheduled;
        if (earlier != null) {
            if (scheduledAt - dueAt <= 0) {
                // The timer fires early enough; the exchange then arms it again.
                return;
            }
            earlier.cancel(false);
        }
        scheduledAt = dueAt;
        scheduled = exchange.loop().schedule(this, Math.max(0, dueNanos), TimeUnit.NANOSECONDS);
    }

    @Override
    public void run() {
        scheduled = null;
        exchange.timePassed();
    }

    /** Cancels the timer at the end of the exchange. */
    void cancel() {
        ScheduledFuture<?> pending = scheduled;
        if (pending != null) {
            scheduled = null;
            pending.cancel(false);
        }
    }

    private long countedExpiryNanos(long now) {
        return exchange.record().arrivedAtNanos() + exchange.record().route().deadlineNanos() - now;
    }

    private long configuredNanos() {
        return isEnforced() ? exchange.record().route().deadlineNanos() : UNENFORCED_NANOS;
    }

    private boolean isEnforced() {
        return exchange.record().route().backend().settings().enforcesDeadline();
    }
}
