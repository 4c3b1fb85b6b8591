package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.deadline.CallerTimeout;
import io.weir.deadline.Deadline;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The time that an exchange has: its deadline, and the one timer that comes no later than the next thing that is due.
 *
 * <p>Where the deadline is not enforced but counted, it is told when it would have ended the exchange, and another one, far away, does: nothing is
 * held for ever.
 */
final class ExchangeTimer implements Runnable {

    private static final long LONGEST_NANOS = TimeUnit.MINUTES.toNanos(10);

    private final Exchange exchange;
    private Deadline deadline;
    private boolean wouldExpire;
    private @Nullable ScheduledFuture<?> timer;
    private long timerDueAt;

    ExchangeTimer(Exchange exchange) {
        this.exchange = exchange;
        this.wouldExpire = !exchange.route().backend().settings().enforcement().deadline();
        this.deadline = Deadline.of(exchange.arrivedAtNanos(), ownNanos(), CallerTimeout.NONE);
    }

    /**
     * Makes it as short as the caller wishes.
     *
     * @throws IllegalArgumentException if the caller's wish is malformed
     */
    void shorten(HttpHeaders head) {
        long wish = CallerTimeout.read(head);
        if (wish != CallerTimeout.NONE) {
            deadline = Deadline.of(exchange.arrivedAtNanos(), ownNanos(), wish);
        }
    }

    /** Gives time for an answer that may be given because there was none left. */
    void extend(long now, long nanos) {
        deadline = new Deadline(now + nanos, false);
    }

    Deadline deadline() {
        return deadline;
    }

    /** What is left; zero or negative: it has passed. */
    long leftNanos(long now) {
        return deadline.leftNanos(now);
    }

    /** Whether a deadline that only counts has just passed. True once. */
    boolean wouldHaveExpired(long now) {
        if (wouldExpire && wouldExpireInNanos(now) <= 0) {
            wouldExpire = false;
            return true;
        }
        return false;
    }

    /**
     * Time to the next thing that is due.
     *
     * @param bounded whether the deadline spans what the exchange is at
     */
    long dueNanos(long now, boolean bounded) {
        long due = bounded ? leftNanos(now) : Long.MAX_VALUE;
        return wouldExpire ? Math.min(due, wouldExpireInNanos(now)) : due;
    }

    /** Sees to it that {@link Exchange#timePassed} is called no later than then. */
    void arm(long now, long dueNanos) {
        long dueAt = now + dueNanos;
        ScheduledFuture<?> running = timer;
        if (running != null) {
            if (timerDueAt - dueAt <= 0) {
                // It comes early enough, and is armed anew then.
                return;
            }
            running.cancel(false);
        }
        timerDueAt = dueAt;
        timer = exchange.loop().schedule(this, Math.max(0, dueNanos), TimeUnit.NANOSECONDS);
    }

    @Override
    public void run() {
        timer = null;
        exchange.timePassed();
    }

    /** The exchange is over. */
    void end() {
        ScheduledFuture<?> running = timer;
        if (running != null) {
            timer = null;
            running.cancel(false);
        }
    }

    private long wouldExpireInNanos(long now) {
        return exchange.arrivedAtNanos() + exchange.route().deadlineNanos() - now;
    }

    private long ownNanos() {
        Route route = exchange.route();
        return route.backend().settings().enforcement().deadline() ? route.deadlineNanos() : LONGEST_NANOS;
    }
}
