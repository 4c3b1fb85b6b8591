package io.weir.health;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The time for which an instance has asked to be left alone, by {@code Retry-After} or gRPC's pushback. Until
 * then it gets no probes and no retries, and the other instances are preferred for calls. At most {@code
 * max-pushback}, plus a jitter of a tenth, at most half a second, so that gateways do not return at once. The
 * longest request counts.
 *
 * <p><b>Unless its other calls succeed.</b> A good answer to a call that was sent after the request ends the
 * pushback: the instance takes calls. An answer to an earlier call shows only that the instance completes
 * what it has. A 429 may be the quota of one caller. So it only counts after a second in which no call was
 * answered well, and in which at least two callers got one. Two that are more than ten seconds apart are
 * unrelated.
 *
 * <p>No timer runs: the time is compared when a probe, a retry or a call asks. Without such an answer, the
 * cost is one read of a field that does not change.
 */
// Concurrency: `state` is the only atomic. A good answer that meets a request for pushback may end it or not;
// benign, since both happened at once.
public final class Pushback {

    private static final long JITTER_ONE_IN = 10;
    private static final long LONGEST_JITTER_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long QUOTA_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long QUOTA_FORGOTTEN_NANOS = TimeUnit.SECONDS.toNanos(10);

    private sealed interface State {}

    /**
     * The instance is left alone.
     *
     * @param since the moment of the first request
     * @param jitter 0 to 1, the same for all requests: of many, the largest would win
     */
    private record Held(long since, long until, double jitter) implements State {}

    /**
     * Calls got a 429, and none was answered well since the first of them.
     *
     * @param caller a hash of the first caller
     * @param several whether another caller got one, too
     */
    private record Quota(long since, int caller, boolean several) implements State {}

    private final LongSupplier maxNanos;
    private final DoubleSupplier random;
    private final AtomicReference<@Nullable State> state = new AtomicReference<>();

    Pushback(LongSupplier maxNanos, DoubleSupplier random) {
        this.maxNanos = maxNanos;
        this.random = random;
    }

    /** The instance has asked to be left alone for this time. */
    public void asked(long nanos, long now) {
        if (nanos <= 0 || maxNanos.getAsLong() == 0) {
            return;
        }
        State seen = state.get();
        while (!state.compareAndSet(seen, held(seen, nanos, now))) {
            // Another thread has read another answer: join both.
            seen = state.get();
        }
    }

    /**
     * The instance has asked to be left alone for this time, by an answer that may concern one caller alone.
     *
     * @param caller any hash of the caller
     */
    public void askedOfCaller(int caller, long nanos, long now) {
        State seen = state.get();
        boolean isHeld = seen instanceof Held held && held.until - now > 0;
        if (isHeld || (seen instanceof Quota quota && isShared(quota, caller, now))) {
            asked(nanos, now);
        } else if (!(seen instanceof Quota quota) || now - quota.since > QUOTA_FORGOTTEN_NANOS) {
            state.compareAndSet(seen, new Quota(now, caller, false));
        } else if (!quota.several && quota.caller != caller) {
            state.compareAndSet(seen, new Quota(quota.since, quota.caller, true));
        }
    }

    private static boolean isShared(Quota quota, int caller, long now) {
        long since = now - quota.since;
        return (quota.several || quota.caller != caller) && since >= QUOTA_NANOS && since <= QUOTA_FORGOTTEN_NANOS;
    }

    private Held held(@Nullable State seen, long nanos, long now) {
        Held known = seen instanceof Held held && held.until - now > 0 ? held : null;
        double jitter = known == null ? random.getAsDouble() : known.jitter;
        long bounded = Math.min(nanos, maxNanos.getAsLong());
        long until = now + bounded + (long) (Math.min(bounded / JITTER_ONE_IN, LONGEST_JITTER_NANOS) * jitter);
        return known == null
                ? new Held(now, until, jitter)
                : new Held(known.since, until - known.until > 0 ? until : known.until, jitter);
    }

    /** A call that was sent at this moment was answered well. */
    public void answeredWell(long sentAt) {
        State seen = state.get();
        if (seen != null && (!(seen instanceof Held held) || sentAt - held.since > 0)) {
            state.compareAndSet(seen, null);
        }
    }

    /** Time for which the instance is left alone; 0: it is not. */
    public long leftNanos(long now) {
        return state.get() instanceof Held held ? Math.max(0, held.until - now) : 0;
    }

    /** Whether the instance is left alone. */
    public boolean isInForce(long now) {
        return leftNanos(now) > 0;
    }

    /** Takes over the pushback of another health of the same instance. */
    void takeOver(Pushback other) {
        State known = other.state.get();
        if (known != null) {
            state.set(known);
        }
    }

    /** The configuration has changed. */
    void forget() {
        state.set(null);
    }
}
