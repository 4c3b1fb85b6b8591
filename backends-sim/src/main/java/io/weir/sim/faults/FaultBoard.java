package io.weir.sim.faults;

import io.weir.sim.faults.Fault.Effect;
import io.weir.sim.faults.FaultPlan.Ending;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;

/**
 * Knows which faults are on, and decides what they do to each request. It does nothing itself.
 *
 * <p>Concurrency: {@link #on} is an immutable list in a volatile, read once by each request; everything that changes it
 * holds the monitor. A request that reads it while a fault heals may still be struck, as one that came a moment earlier.
 * A hang that heals completes its future, so nobody is held by a fault that is gone.
 */
final class FaultBoard {

    /** Runs something later, and can be told not to. */
    interface Alarm {
        Runnable in(Duration time, Runnable action);
    }

    /** What is on, or will be. */
    record Status(
            FaultEntry fault,
            boolean on,
            Duration startsIn,
            @Nullable Duration healsIn,
            long hits,
            int held,
            @Nullable String failure) {}

    private final LongSupplier nanoTime;
    private final Alarm alarm;
    private final DatabaseFaults database;
    private final List<Posted> posted = new ArrayList<>();
    private final Map<FaultKind, LongAdder> hits = new EnumMap<>(FaultKind.class);
    private volatile List<Posted> on = List.of();

    FaultBoard(LongSupplier nanoTime, Alarm alarm, DatabaseFaults database) {
        this.nanoTime = nanoTime;
        this.alarm = alarm;
        this.database = database;
        for (FaultKind kind : FaultKind.values()) {
            hits.put(kind, new LongAdder());
        }
    }

    /** A fault from its posting until it has healed. */
    private final class Posted {
        private final Fault fault;
        private final Random random;
        private final long startNanos;
        private final LongAdder struck = new LongAdder();
        private final CompletableFuture<Void> healed = new CompletableFuture<>();
        private @Nullable Runnable cancelAlarm;
        private volatile @Nullable Seizure seizure;

        private Posted(Fault fault, long seed) {
            this.fault = fault;
            // java.util.Random may be drawn from by many threads at once.
            this.random = new Random(seed);
            this.startNanos = nanoTime.getAsLong() + fault.after().toNanos();
        }

        private Duration age() {
            return Duration.ofNanos(nanoTime.getAsLong() - startNanos);
        }

        private Status status() {
            Seizure seized = seizure;
            Duration age = age();
            Throwable failure = seized == null ? null : seized.failure();
            return new Status(
                    fault.entry(),
                    on.contains(this),
                    age.isNegative() ? age.negated() : Duration.ZERO,
                    fault.duration() == null ? null : fault.duration().minus(age),
                    struck.sum(),
                    seized == null ? 0 : seized.held(),
                    failure == null ? null : failure.toString());
        }
    }

    /** Heals what is on, and posts these. */
    synchronized void replace(List<Fault> faults, long seed) {
        heal();
        add(faults, seed);
    }

    /** Posts these beside what is on. */
    synchronized void add(List<Fault> faults, long seed) {
        for (int i = 0; i < faults.size(); i++) {
            Posted one = new Posted(faults.get(i), seed + i);
            posted.add(one);
            if (one.fault.after().isZero()) {
                begin(one);
            } else {
                one.cancelAlarm = alarm.in(one.fault.after(), () -> begin(one));
            }
        }
    }

    /** Heals everything, and forgets what had not begun. */
    synchronized void heal() {
        for (Posted one : List.copyOf(posted)) {
            heal(one);
        }
    }

    synchronized List<Status> status() {
        return posted.stream().map(Posted::status).toList();
    }

    /** How many faults of that kind are on. */
    long countOn(FaultKind kind) {
        return on.stream().filter(one -> one.fault.kind() == kind).count();
    }

    /** How often faults of that kind have struck. */
    long countHits(FaultKind kind) {
        return Objects.requireNonNull(hits.get(kind)).sum();
    }

    /** What happens to a request for that path, drawn anew for each. */
    FaultPlan plan(PathContainer path) {
        List<Posted> faults = on;
        if (faults.isEmpty()) {
            return FaultPlan.NONE;
        }
        Planning planning = new Planning();
        for (Posted one : faults) {
            if (one.fault.concerns(path) && one.random.nextDouble() < one.fault.probability()) {
                planning.add(one);
            }
        }
        return planning.plan();
    }

    private synchronized void begin(Posted one) {
        if (!posted.contains(one)) {
            return;
        }
        List<Posted> more = new ArrayList<>(on);
        more.add(one);
        on = List.copyOf(more);
        Duration duration = one.fault.duration();
        one.cancelAlarm = duration == null ? null : alarm.in(duration, () -> heal(one));
        if (one.fault.strikesAtOnce()) {
            seize(one);
        }
    }

    private synchronized void heal(Posted one) {
        if (!posted.remove(one)) {
            return;
        }
        on = on.stream().filter(other -> other != one).toList();
        if (one.cancelAlarm != null) {
            one.cancelAlarm.run();
        }
        Seizure seized = one.seizure;
        if (seized != null) {
            seized.close();
        }
        one.healed.complete(null);
    }

    /** Takes from the database what the fault takes, once. */
    private void seize(Posted one) {
        if (one.seizure == null) {
            seizeNow(one);
        }
    }

    private synchronized void seizeNow(Posted one) {
        if (one.seizure != null || !posted.contains(one)) {
            return;
        }
        one.seizure = switch (one.fault.effect()) {
            case Effect.Pool pool -> database.takeConnections(pool.connections());
            case Effect.Lock lock -> database.lockRow(lock.row());
            default -> null;
        };
        if (one.seizure != null) {
            hit(one);
        }
    }

    private void hit(Posted one) {
        one.struck.increment();
        Objects.requireNonNull(hits.get(one.fault.kind())).increment();
    }

    /** Adds up what several faults do to one request. */
    private final class Planning {
        private final List<CompletableFuture<Void>> holds = new ArrayList<>();
        private Duration delay = Duration.ZERO;
        private Duration burn = Duration.ZERO;
        private @Nullable Ending reset;
        private @Nullable Ending status;
        private @Nullable Ending truncated;
        private @Nullable Ending trickled;

        private void add(Posted one) {
            switch (one.fault.effect()) {
                case Effect.Latency latency ->
                    delay = delay.plus(latency.delays().draw(one.random));
                case Effect.SlowStart slow -> delay = delay.plus(leftOf(slow, one.age()));
                case Effect.Cpu cpu -> burn = burn.plus(cpu.burn());
                case Effect.Hang _ -> holds.add(one.healed);
                case Effect.Reset _ -> reset = new Ending.Reset();
                case Effect.Errors errors -> {
                    Ending drawn = drawn(errors, one.random);
                    if (drawn == null) {
                        return;
                    }
                    status = drawn;
                }
                case Effect.Truncate truncate -> truncated = new Ending.Truncated(truncate.share());
                case Effect.Trickle trickle -> trickled = new Ending.Trickled(trickle.bytes(), trickle.interval());
                case Effect.Pool _, Effect.Lock _ -> {
                    seize(one);
                    return;
                }
            }
            hit(one);
        }

        private FaultPlan plan() {
            Ending ending = reset != null
                    ? reset
                    : status != null
                            ? status
                            : truncated != null ? truncated : trickled != null ? trickled : FaultPlan.NONE.ending();
            return new FaultPlan(List.copyOf(holds), delay, burn, ending);
        }

        private static @Nullable Ending drawn(Effect.Errors errors, Random random) {
            double left = random.nextDouble();
            for (Map.Entry<Integer, Double> share : errors.shares().entrySet()) {
                left -= share.getValue();
                if (left < 0) {
                    return new Ending.Status(share.getKey());
                }
            }
            return null;
        }

        private static Duration leftOf(Effect.SlowStart slow, Duration age) {
            double left = 1 - (double) age.toNanos() / slow.ramp().toNanos();
            return left <= 0
                    ? Duration.ZERO
                    : Duration.ofNanos((long) (slow.delay().toNanos() * left));
        }
    }
}
