package io.weir.warmup;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Exercises the gateway until its compilers are quiet, for a bounded time. */
// Concurrency: run() is confined to the starting thread; stop() may come from any thread, at any time.
public final class WarmUp {

    static final Duration DEFAULT = Duration.ofSeconds(20);
    static final Duration DEFAULT_WITH_CACHE = Duration.ofSeconds(5);
    static final Duration LOOK = Duration.ofMillis(250);
    /** If most calls have failed for so long, the others will, too. */
    static final Duration HOPELESS = Duration.ofSeconds(5);

    static final Duration PROGRESS = Duration.ofSeconds(5);

    private static final double PERCENT = 100;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final Logger log = LoggerFactory.getLogger(WarmUp.class);

    /** Waits for the end of the warm-up. */
    @FunctionalInterface
    interface Pause {

        /** Waits until the latch is open, at most this time; returns whether it is. */
        boolean await(CountDownLatch stopped, Duration time) throws InterruptedException;
    }

    private final Duration maxDuration;
    private final Compilers compilers;
    private final LongSupplier nanoClock;
    private final Pause pause;
    private final CountDownLatch stopped = new CountDownLatch(1);

    /**
     * A warm-up of this JVM.
     *
     * @param maxDuration its bound; null: the default; 0: there is no warm-up
     * @param nanoClock {@link System#nanoTime}
     */
    public WarmUp(@Nullable Duration maxDuration, LongSupplier nanoClock) {
        this(
                maxDuration,
                new JvmCompilers(),
                nanoClock,
                (stopped, time) -> stopped.await(time.toNanos(), TimeUnit.NANOSECONDS));
    }

    /** A warm-up with other compilers and another time. */
    WarmUp(@Nullable Duration maxDuration, Compilers compilers, LongSupplier nanoClock, Pause pause) {
        this.maxDuration = maxDuration != null ? maxDuration : compilers.hasCache() ? DEFAULT_WITH_CACHE : DEFAULT;
        this.compilers = compilers;
        this.nanoClock = nanoClock;
        this.pause = pause;
    }

    /**
     * Runs the warm-up; returns at its end. Its failure is logged, and is no failure of the gateway.
     *
     * @param exercise creates the calls; not called if there is no warm-up
     */
    public void run(Supplier<? extends Exercise> exercise) {
        if (maxDuration.isZero() || isStopped()) {
            return;
        }
        try (Exercise calls = exercise.get()) {
            exercise(calls);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException | LinkageError e) {
            log.warn("Warm-up failed, so the first requests may be slow: {}", e.toString());
        }
    }

    private void exercise(Exercise calls) throws InterruptedException {
        long began = nanoClock.getAsLong();
        CompilerActivity activity = new CompilerActivity(compilers.callsMin(), began, compilers.usedMillis());
        long told = began;
        calls.start();
        String end = null;
        while (end == null) {
            boolean isStopped = pause.await(stopped, LOOK);
            long now = nanoClock.getAsLong();
            if (isStopped) {
                end = "stopped";
            } else if (activity.isQuiet(now, calls.answered(), compilers.usedMillis())) {
                end = "warm";
            } else if (now - began >= HOPELESS.toNanos() && isFailing(calls)) {
                end = "most calls fail";
            } else if (now - began >= maxDuration.toNanos()) {
                end = "not quiet yet, weir.warm-up.max-duration is over";
            } else if (now - told >= PROGRESS.toNanos()) {
                told = now;
                report("Warming up", calls, activity, now - began);
            }
        }
        report("Warm-up ended (" + end + ')', calls, activity, nanoClock.getAsLong() - began);
        if (isFailing(calls) && !isStopped()) {
            log.warn(
                    "Warm-up failed, so the first requests may be slow: of {} calls, {} were not answered as expected",
                    calls.answered() + calls.failed(),
                    calls.failed());
        }
    }

    private static boolean isFailing(Exercise calls) {
        return calls.failed() >= calls.answered();
    }

    private static void report(String what, Exercise calls, CompilerActivity activity, long nanos) {
        log.info(
                "{}: {} calls in {} s, {} failed, compilers busy {} % of the time",
                what,
                calls.answered(),
                String.format(Locale.ROOT, "%.1f", nanos / NANOS_PER_SECOND),
                calls.failed(),
                Math.round(PERCENT * activity.share()));
    }

    /** Ends the warm-up now, or keeps it from beginning. */
    public void stop() {
        stopped.countDown();
    }

    private boolean isStopped() {
        return stopped.getCount() == 0;
    }
}
