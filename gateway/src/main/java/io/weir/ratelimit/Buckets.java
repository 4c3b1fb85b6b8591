package io.weir.ratelimit;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.BucketListener;
import io.github.bucket4j.MathType;
import io.github.bucket4j.TimeMeter;
import io.github.bucket4j.local.LockFreeBucket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The token buckets of one limit, by key; at most {@code maxKeys}.
 *
 * <p>The keys are in two generations. A key that is used is in the young one: it is added there, or moves
 * there from the old one. A rotation makes the young generation the old one, and forgets the old one with all
 * keys that were not used since the last rotation. There are two causes of a rotation:
 *
 * <ul>
 *   <li>The generation is as old as an empty bucket needs to become full. Every forgotten bucket is then
 *       full, as a new one is, so nothing is lost.
 *   <li>The young generation has half of the keys. The forgotten keys are those that were not used for
 *       longest. Their buckets may not have been full; {@link #forgotten} counts them.
 * </ul>
 */
// Concurrency: `generations` is the only atomic of this class; a lost race to rotate changes nothing. Benign
// races: a thread that still sees the generations before a rotation may add a key that another thread adds to
// the new ones; one of the two buckets, with its few used tokens, is lost. Each thread that adds a key at the
// moment of a rotation can exceed the bound by one key.
final class Buckets {

    private static final int GENERATIONS = 2;

    private final TimeMeter clock;
    private final BucketConfiguration configuration;
    private final long nanosToFill;
    private final int keysPerGeneration;
    private final AtomicReference<Generations> generations;
    private final LongAdder forgotten = new LongAdder();

    /**
     * The keys in use.
     *
     * @param moved the number of keys that are in both generations
     * @param since the moment of the last rotation
     */
    private record Generations(
            ConcurrentMap<String, Bucket> young, ConcurrentMap<String, Bucket> old, LongAdder moved, long since) {

        static Generations empty(long now) {
            return new Generations(new ConcurrentHashMap<>(), new ConcurrentHashMap<>(), new LongAdder(), now);
        }

        Generations rotated(long now) {
            return new Generations(new ConcurrentHashMap<>(), young, new LongAdder(), now);
        }

        long onlyInOld() {
            return Math.max(0, old.size() - moved.sum());
        }
    }

    /** No keys. */
    Buckets(long permits, Duration period, long burst, int maxKeys, LongSupplier nanoClock) {
        this.clock = new Clock(nanoClock);
        this.configuration = new BucketConfiguration(List.of(Bandwidth.builder()
                .capacity(burst)
                .refillGreedy(permits, period)
                .build()));
        // A double: the product can exceed a long.
        this.nanosToFill = (long) Math.min(Long.MAX_VALUE / 2.0, (double) burst * period.toNanos() / permits);
        this.keysPerGeneration = Math.max(1, maxKeys / GENERATIONS);
        this.generations = new AtomicReference<>(Generations.empty(nanoClock.getAsLong()));
    }

    /** Bucket4j's clock. */
    private record Clock(LongSupplier nanoClock) implements TimeMeter {

        @Override
        public long currentTimeNanos() {
            return nanoClock.getAsLong();
        }

        @Override
        public boolean isWallClockBased() {
            return false;
        }
    }

    /** The bucket of a key; a full one if the key is not known. */
    Bucket of(String key) {
        long now = clock.currentTimeNanos();
        Generations current = generations.get();
        if (now - current.since >= nanosToFill) {
            Generations next = current.rotated(now);
            current = generations.compareAndSet(current, next) ? next : generations.get();
        }
        Bucket young = current.young.get(key);
        if (young != null) {
            return young;
        }
        Bucket old = current.old.get(key);
        Bucket used = old != null
                ? old
                : new LockFreeBucket(configuration, MathType.INTEGER_64_BITS, clock, BucketListener.NOPE);
        Bucket raced = current.young.putIfAbsent(key, used);
        if (raced != null) {
            return raced;
        }
        if (old != null) {
            current.moved.increment();
        }
        if (current.young.size() >= keysPerGeneration && generations.compareAndSet(current, current.rotated(now))) {
            forgotten.add(current.onlyInOld());
        }
        return used;
    }

    /** The number of remembered keys. */
    long keys() {
        Generations current = generations.get();
        return current.young.size() + current.onlyInOld();
    }

    /** Keys that were forgotten because of the bound, since the start. */
    long forgotten() {
        return forgotten.sum();
    }
}
