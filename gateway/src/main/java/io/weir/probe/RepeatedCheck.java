package io.weir.probe;

import io.netty.channel.EventLoop;
import io.weir.instance.Instance;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the gateway asks one instance at intervals, one question at a time. The first one comes at a random
 * moment of the first interval, so that those of several instances and gateways are spread.
 *
 * <p>The time-out is counted in ticks of the event loop. A pause of the gateway is at most one tick, so it
 * lets no question fail.
 */
// Concurrency: confined to one event loop, except `Asked.ended`.
abstract class RepeatedCheck {

    private static final Logger log = LoggerFactory.getLogger(RepeatedCheck.class);
    private static final int TICKS = 10;
    private static final double JITTER = 0.1;

    final Instance instance;
    private final Timing timing;
    private final long intervalNanos;
    private final long tickNanos;
    /** The question under way; null: none is. */
    private @Nullable Asked asked;

    private @Nullable Future<?> timer;

    /**
     * The event loop and its time.
     *
     * @param random 0 (inclusive) to 1 (exclusive)
     */
    record Timing(EventLoop loop, LongSupplier nanoClock, DoubleSupplier random) {

        long now() {
            return nanoClock.getAsLong();
        }
    }

    RepeatedCheck(Instance instance, Timing timing, Duration interval, Duration timeout) {
        this.instance = instance;
        this.timing = timing;
        this.intervalNanos = interval.toNanos();
        this.tickNanos = timeout.toNanos() / TICKS;
    }

    /** Asks the instance. Any thread may report the end. Returns what gives the question up. */
    abstract Runnable ask(Asked question);

    /** There was no answer in time. */
    abstract void unanswered(long sentAt);

    /** A question under way. */
    final class Asked {

        private final long sentAt = timing.now();
        private int ticks;
        private Runnable giveUp = () -> {};

        long sentAt() {
            return sentAt;
        }

        /**
         * The question has ended; only its first end counts. The result is always a task: nothing changes
         * while the question is being sent.
         */
        void ended(Runnable result) {
            try {
                timing.loop.execute(() -> end(this, result));
            } catch (RejectedExecutionException e) {
                log.debug("No result of a check on a stopped event loop", e);
            }
        }
    }

    final long now() {
        return timing.now();
    }

    /** Begins with a question at a random moment of the first interval. */
    final void begin() {
        sendAfter((long) (intervalNanos * timing.random.getAsDouble()));
    }

    /** Ends for good; a question under way is given up. */
    final void stop() {
        cancelTimer();
        Asked waiting = asked;
        asked = null;
        if (waiting != null) {
            waiting.giveUp.run();
        }
    }

    private void sendAfter(long nanos) {
        timer = timing.loop.schedule(this::send, nanos, TimeUnit.NANOSECONDS);
    }

    private void send() {
        Asked question = new Asked();
        asked = question;
        timer = timing.loop.schedule(this::tick, tickNanos, TimeUnit.NANOSECONDS);
        try {
            question.giveUp = ask(question);
        } catch (RuntimeException e) {
            log.error("A check of {} failed inside the gateway", instance.shownAddress(), e);
            end(question, () -> {});
        }
    }

    private void tick() {
        Asked waiting = asked;
        if (waiting == null) {
            return;
        }
        if (++waiting.ticks < TICKS) {
            timer = timing.loop.schedule(this::tick, tickNanos, TimeUnit.NANOSECONDS);
            return;
        }
        waiting.giveUp.run();
        end(waiting, () -> unanswered(waiting.sentAt));
    }

    private void end(Asked ended, Runnable result) {
        if (asked != ended) {
            return;
        }
        asked = null;
        cancelTimer();
        result.run();
        long interval = (long) (intervalNanos * (1 + JITTER * (2 * timing.random.getAsDouble() - 1)));
        sendAfter(Math.max(0, ended.sentAt + interval - now()));
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
