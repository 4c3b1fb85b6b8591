package io.weir.limit;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * The tenants of one backend: the key that tells them apart, and the counts of their calls that had to wait
 * in the present and the last period of {@value #PERIOD_SECONDS} s. The counts are only shown; the queue does
 * not use them.
 *
 * <p>Memory is bounded whatever names callers send: a period counts the first {@value #MAX_NAMES} names one
 * by one, and all others together. A tenant with many calls is among the first names of almost every period.
 */
// Concurrency: `present` is replaced by CAS; a call that is counted into a period that has just ended is
// counted there. Two threads that add names at once may exceed MAX_NAMES by the number of threads.
public final class Tenants {

    /** Names that a period counts one by one. */
    public static final int MAX_NAMES = 1_000;

    /** The largest tenants that are shown. */
    public static final int SHOWN = 10;

    static final int PERIOD_SECONDS = 10;

    private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(PERIOD_SECONDS);

    private final TenantKey key;
    private final LongSupplier nanoClock;
    private final AtomicReference<Period> present;

    /**
     * The calls of one tenant that had to wait.
     *
     * @param name the tenant's name
     * @param admitted calls that received a permit after a wait
     * @param refused calls that were refused, or whose callers left
     */
    public record Usage(String name, long admitted, long refused) {

        private long calls() {
            return admitted + refused;
        }
    }

    /**
     * The tenants whose calls had to wait.
     *
     * @param count the number of their names, without those that are counted together
     * @param isMore whether there are more names than can be counted one by one
     * @param largest those with the most calls, the largest first
     */
    public record Figures(int count, boolean isMore, List<Usage> largest) {}

    private static final class Counts {

        private final LongAdder admitted = new LongAdder();
        private final LongAdder refused = new LongAdder();

        void count(boolean isAdmitted) {
            (isAdmitted ? admitted : refused).increment();
        }
    }

    /** The counts since a moment, and those of the period before. */
    private static final class Period {

        private final long startNanos;
        private final Map<String, Counts> before;
        private final ConcurrentHashMap<String, Counts> names = new ConcurrentHashMap<>();
        private final Counts others = new Counts();
        private final boolean hadOthers;

        Period(long startNanos, Map<String, Counts> before, boolean hadOthers) {
            this.startNanos = startNanos;
            this.before = before;
            this.hadOthers = hadOthers;
        }

        boolean hasOthers() {
            return others.admitted.sum() + others.refused.sum() > 0;
        }

        Counts counts(String name) {
            Counts known = names.get(name);
            if (known != null) {
                return known;
            }
            return names.mappingCount() < MAX_NAMES ? names.computeIfAbsent(name, added -> new Counts()) : others;
        }
    }

    /**
     * Tenants of which no call has waited yet.
     *
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public Tenants(TenantKey key, LongSupplier nanoClock) {
        this.key = key;
        this.nanoClock = nanoClock;
        this.present = new AtomicReference<>(new Period(nanoClock.getAsLong(), Map.of(), false));
    }

    /** The part of a request that names its tenant. */
    public TenantKey key() {
        return key;
    }

    /** Counts a call at the end of its wait. */
    public void count(String tenant, boolean isAdmitted) {
        present().counts(tenant).count(isAdmitted);
    }

    /** The figures of the present and the last period. */
    public Figures figures() {
        Period period = present();
        Map<String, Usage> byName = new HashMap<>();
        add(period.before, byName);
        add(period.names, byName);
        List<Usage> largest = byName.values().stream()
                .sorted(Comparator.comparingLong(Usage::calls).reversed().thenComparing(Usage::name))
                .limit(SHOWN)
                .toList();
        return new Figures(byName.size(), period.hadOthers || period.hasOthers(), largest);
    }

    private static void add(Map<String, Counts> counts, Map<String, Usage> byName) {
        counts.forEach((name, of) -> byName.merge(
                name,
                new Usage(name, of.admitted.sum(), of.refused.sum()),
                (one, other) -> new Usage(name, one.admitted + other.admitted, one.refused + other.refused)));
    }

    private Period present() {
        long now = nanoClock.getAsLong();
        Period seen = present.get();
        long age = now - seen.startNanos;
        if (age < PERIOD_NANOS) {
            return seen;
        }
        boolean isLast = age < 2 * PERIOD_NANOS;
        present.compareAndSet(seen, new Period(now, isLast ? seen.names : Map.of(), isLast && seen.hasOthers()));
        return present.get();
    }
}
