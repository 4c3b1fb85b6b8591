package io.weir.authentication;

import com.nimbusds.jose.jwk.JWKSet;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys of an issuer: those in force, and when they are fetched again.
 *
 * <p>The keys are fetched in the background, one refresh interval after the last fetch. After a failed fetch,
 * the keys stay in force, however old they are, and the fetch is repeated after 1, 2, 4 and so on up to 30
 * seconds. A token whose key is not known causes a fetch at once, unless one is under way, or has ended less
 * than {@code unknown-key-interval} ago: so invented keys cause at most one fetch in that time, and never two
 * fetches at once.
 */
// Concurrency: `state` is the only atomic that decides. The thread whose CAS puts a fetch into it begins that
// fetch; the end of the fetch removes it. A request that has read `state` just before that end waits for a
// fetch that is over at once.
final class IssuerKeys {

    private static final Logger log = LoggerFactory.getLogger(IssuerKeys.class);

    private static final long FIRST_RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final long LAST_RETRY_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int MAX_DOUBLINGS = 5;
    /** The fetches of gateways that were started together spread over a tenth of the interval. */
    private static final double JITTER = 0.1;

    private final String name;
    private final KeySource source;
    private final LongSupplier nanoClock;
    private final DoubleSupplier random;
    private final long refreshNanos;
    private final long unknownKeyNanos;
    private final AtomicReference<State> state;
    private final AtomicLong fetched = new AtomicLong();
    private final AtomicLong partial = new AtomicLong();
    private final AtomicLong failed = new AtomicLong();
    /** Of the last successful fetch. Only one is under way. */
    private volatile List<String> skipped = List.of();

    /**
     * What is known of the keys, and of the fetches.
     *
     * @param keys the keys in force; null: none were ever known
     * @param fetch the fetch that is under way; null: none
     * @param dueAt the moment of the next fetch in the background
     * @param endedAt the moment at which the last fetch has ended; null: none has
     * @param failures failed fetches in a row
     * @param failingSince the moment of the first of them
     */
    private record State(
            @Nullable JWKSet keys,
            @Nullable KeyFetch fetch,
            long dueAt,
            @Nullable Long endedAt,
            int failures,
            long failingSince) {

        State fetching(KeyFetch begun) {
            return new State(keys, begun, dueAt, endedAt, failures, failingSince);
        }

        State fetched(JWKSet next, long now, long nextAt) {
            // The same object for equal keys: verified tokens are kept as long as it stays.
            return new State(next.equals(keys) ? keys : next, null, nextAt, now, 0, now);
        }

        State failed(long now, long nextAt) {
            return new State(keys, null, nextAt, now, failures + 1, failures == 0 ? now : failingSince);
        }
    }

    /**
     * Keys that are due to be fetched.
     *
     * @param name the issuer's name in the configuration
     * @param known the keys in force until the first fetch; null: none
     * @param random values from 0 to 1
     */
    IssuerKeys(
            String name,
            IssuerProperties properties,
            KeySource source,
            @Nullable JWKSet known,
            LongSupplier nanoClock,
            DoubleSupplier random) {
        this.name = name;
        this.source = source;
        this.nanoClock = nanoClock;
        this.random = random;
        this.refreshNanos = nanos(properties.refreshInterval());
        this.unknownKeyNanos = nanos(properties.unknownKeyInterval());
        long now = nanoClock.getAsLong();
        this.state = new AtomicReference<>(new State(known, null, now, null, 0, now));
    }

    private static long nanos(Duration duration) {
        return duration.toNanos();
    }

    /** The keys in force; null: none were ever known. Another object if and only if they have changed. */
    @Nullable
    JWKSet inForce() {
        return state.get().keys;
    }

    /** Begins a fetch if it is due. Called again and again, in the background. */
    void refreshIfDue() {
        State now = state.get();
        if (now.fetch == null && nanoClock.getAsLong() - now.dueAt >= 0) {
            begin(now);
        }
    }

    /** The fetch that may find an unknown key: the one under way, or a new one; null: it is too early. */
    @Nullable
    KeyFetch fetchForUnknownKey() {
        while (true) {
            State now = state.get();
            if (now.fetch != null) {
                return now.fetch;
            }
            Long endedAt = now.endedAt;
            if (endedAt != null && nanoClock.getAsLong() - endedAt < unknownKeyNanos) {
                return null;
            }
            KeyFetch begun = begin(now);
            if (begun != null) {
                return begun;
            }
        }
    }

    /** Begins a fetch; null: the state has changed meanwhile. */
    private @Nullable KeyFetch begin(State seen) {
        KeyFetch fetch = new KeyFetch();
        if (!state.compareAndSet(seen, seen.fetching(fetch))) {
            return null;
        }
        CompletionStage<FetchedKeys> running;
        try {
            running = source.fetch();
        } catch (RuntimeException e) {
            end(fetch, null, e);
            return fetch;
        }
        var _ = running.whenComplete((keys, failure) -> end(fetch, keys, failure));
        return fetch;
    }

    private void end(KeyFetch fetch, @Nullable FetchedKeys keys, @Nullable Throwable failure) {
        long now = nanoClock.getAsLong();
        State before = state.get();
        if (keys == null) {
            failed.incrementAndGet();
            State after = change(one -> one.failed(now, now + retryNanos(one.failures)));
            logFailure(before, after, failure);
        } else {
            (keys.skipped().isEmpty() ? fetched : partial).incrementAndGet();
            logSkipped(keys.skipped());
            long nextAt = now + (long) (refreshNanos * (1 - JITTER * random.getAsDouble()));
            logKeys(before, change(one -> one.fetched(keys.keys(), now, nextAt)));
        }
        fetch.end();
    }

    private State change(UnaryOperator<State> change) {
        return state.updateAndGet(change);
    }

    private long retryNanos(int failures) {
        long nanos = FIRST_RETRY_NANOS << Math.min(failures, MAX_DOUBLINGS);
        return (long) (Math.min(Math.min(nanos, LAST_RETRY_NANOS), refreshNanos) * (1 - JITTER * random.getAsDouble()));
    }

    private void logFailure(State before, State after, @Nullable Throwable failure) {
        if (before.failures == 0) {
            log.warn(
                    "Keys of issuer {} cannot be fetched ({}); {}",
                    name,
                    describe(failure),
                    after.keys == null
                            ? "none are known, so its tokens are refused until a fetch succeeds"
                            : "keeping " + after.keys.size() + " known keys");
        } else {
            log.debug("Keys of issuer {} still cannot be fetched ({})", name, describe(failure));
        }
    }

    private void logSkipped(List<String> next) {
        if (!next.equals(skipped)) {
            skipped = next;
            if (!next.isEmpty()) {
                log.warn("Keys of issuer {} that cannot be read, and are skipped: {}", name, next);
            }
        }
    }

    private static String describe(@Nullable Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause == null) {
            return "no keys";
        }
        return cause.getMessage() == null ? cause.getClass().getSimpleName() : cause.getMessage();
    }

    @SuppressWarnings("ReferenceEquality") // Equal keys are the same object.
    private void logKeys(State before, State after) {
        if (before.keys != after.keys && after.keys != null) {
            log.info(
                    "Keys of issuer {}: {}",
                    name,
                    after.keys.getKeys().stream()
                            .map(key -> key.getKeyID() == null ? "one without kid" : key.getKeyID())
                            .toList());
        } else if (before.failures > 0) {
            log.warn("Keys of issuer {} were fetched again after {} failures", name, before.failures);
        }
    }

    /** The number of keys in force. */
    int count() {
        JWKSet keys = inForce();
        return keys == null ? 0 : keys.size();
    }

    /** The time since the first of the failed fetches in a row; 0: the last fetch has succeeded. */
    long failingNanos() {
        State now = state.get();
        return now.failures == 0 ? 0 : nanoClock.getAsLong() - now.failingSince;
    }

    /** Fetches since the start in which all keys could be read. */
    long fetched() {
        return fetched.get();
    }

    /** Fetches since the start in which some keys could not be read. */
    long partial() {
        return partial.get();
    }

    /** Failed fetches since the start. */
    long failed() {
        return failed.get();
    }
}
