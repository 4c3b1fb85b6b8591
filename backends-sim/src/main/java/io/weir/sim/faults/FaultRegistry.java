package io.weir.sim.faults;

import io.weir.sim.faults.Fault.Effect;
import io.weir.sim.faults.FaultPlan.ResponseFault;
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
 * The faults that are active or scheduled. Decides the effects on each request; the adapters apply them.
 *
 * <p>Concurrency: {@link #active} is an immutable list in a volatile field, and each request reads it once.
 * Every change holds the monitor. A request that reads the list while a fault heals may still be affected,
 * like a request that came a moment earlier. A hang completes its future when it heals, so no request waits
 * for a removed fault.
 */
final class FaultRegistry {

    /** Runs an action later. The returned action cancels it. */
    interface FaultTimer {
        Runnable schedule(Duration delay, Runnable action);
    }

    /** An active or scheduled fault. */
    record FaultStatus(
            FaultDefinition fault,
            boolean active,
            Duration startsIn,
            @Nullable Duration healsIn,
            long hits,
            int held,
            @Nullable String failure) {}

    private final LongSupplier nanoTime;
    private final FaultTimer timer;
    private final DatabaseFaults database;
    private final List<ScheduledFault> scheduledFaults = new ArrayList<>();
    private final Map<FaultKind, LongAdder> hitsByKind = new EnumMap<>(FaultKind.class);
    private volatile List<ScheduledFault> active = List.of();

    FaultRegistry(LongSupplier nanoTime, FaultTimer timer, DatabaseFaults database) {
        this.nanoTime = nanoTime;
        this.timer = timer;
        this.database = database;
        for (FaultKind kind : FaultKind.values()) {
            hitsByKind.put(kind, new LongAdder());
        }
    }

    /** A fault from its posting until it heals. */
    private final class ScheduledFault {
        private final Fault fault;
        private final Random random;
        private final long startNanos;
        private final LongAdder hits = new LongAdder();
        private final CompletableFuture<Void> healed = new CompletableFuture<>();
        private @Nullable Runnable cancelTimer;
        private volatile @Nullable DatabaseHold hold;

        private ScheduledFault(Fault fault, long seed) {
            this.fault = fault;
            // java.util.Random is safe for concurrent use.
            this.random = new Random(seed);
            this.startNanos = nanoTime.getAsLong() + fault.after().toNanos();
        }

        private Duration age() {
            return Duration.ofNanos(nanoTime.getAsLong() - startNanos);
        }

        private FaultStatus status() {
            DatabaseHold current = hold;
            Duration age = age();
            Throwable failure = current == null ? null : current.failure();
            return new FaultStatus(
                    fault.definition(),
                    active.contains(this),
                    age.isNegative() ? age.negated() : Duration.ZERO,
                    fault.duration() == null ? null : fault.duration().minus(age),
                    hits.sum(),
                    current == null ? 0 : current.held(),
                    failure == null ? null : failure.toString());
        }
    }

    /** Heals all faults, and posts these. */
    synchronized void replace(List<Fault> faults, long seed) {
        heal();
        add(faults, seed);
    }

    /** Posts these faults in addition. */
    synchronized void add(List<Fault> faults, long seed) {
        for (int i = 0; i < faults.size(); i++) {
            ScheduledFault scheduled = new ScheduledFault(faults.get(i), seed + i);
            scheduledFaults.add(scheduled);
            if (scheduled.fault.after().isZero()) {
                start(scheduled);
            } else {
                scheduled.cancelTimer = timer.schedule(scheduled.fault.after(), () -> start(scheduled));
            }
        }
    }

    /** Heals all active faults, and removes the scheduled ones. */
    synchronized void heal() {
        for (ScheduledFault scheduled : List.copyOf(scheduledFaults)) {
            heal(scheduled);
        }
    }

    synchronized List<FaultStatus> status() {
        return scheduledFaults.stream().map(ScheduledFault::status).toList();
    }

    /** The number of active faults of this kind. */
    long countActive(FaultKind kind) {
        return active.stream()
                .filter(scheduled -> scheduled.fault.kind() == kind)
                .count();
    }

    /** How often faults of this kind affected a request or the database. */
    long countHits(FaultKind kind) {
        return Objects.requireNonNull(hitsByKind.get(kind)).sum();
    }

    /** The effects on a request for this path, drawn anew for each request. */
    FaultPlan plan(PathContainer path) {
        List<ScheduledFault> faults = active;
        if (faults.isEmpty()) {
            return FaultPlan.NONE;
        }
        PlanBuilder builder = new PlanBuilder();
        for (ScheduledFault scheduled : faults) {
            if (scheduled.fault.matches(path) && scheduled.random.nextDouble() < scheduled.fault.probability()) {
                builder.add(scheduled);
            }
        }
        return builder.build();
    }

    private synchronized void start(ScheduledFault scheduled) {
        if (!scheduledFaults.contains(scheduled)) {
            return;
        }
        List<ScheduledFault> more = new ArrayList<>(active);
        more.add(scheduled);
        active = List.copyOf(more);
        Duration duration = scheduled.fault.duration();
        scheduled.cancelTimer = duration == null ? null : timer.schedule(duration, () -> heal(scheduled));
        if (scheduled.fault.actsImmediately()) {
            takeResources(scheduled);
        }
    }

    private synchronized void heal(ScheduledFault scheduled) {
        if (!scheduledFaults.remove(scheduled)) {
            return;
        }
        active = active.stream().filter(other -> other != scheduled).toList();
        if (scheduled.cancelTimer != null) {
            scheduled.cancelTimer.run();
        }
        DatabaseHold current = scheduled.hold;
        if (current != null) {
            current.close();
        }
        scheduled.healed.complete(null);
    }

    /** Takes the fault's database resources, once. */
    private void takeResources(ScheduledFault scheduled) {
        if (scheduled.hold == null) {
            takeResourcesUnderMonitor(scheduled);
        }
    }

    private synchronized void takeResourcesUnderMonitor(ScheduledFault scheduled) {
        if (scheduled.hold != null || !scheduledFaults.contains(scheduled)) {
            return;
        }
        scheduled.hold = switch (scheduled.fault.effect()) {
            case Effect.TakeConnections pool -> database.takeConnections(pool.connections());
            case Effect.LockRow lock -> database.lockRow(lock.row());
            default -> null;
        };
        if (scheduled.hold != null) {
            countHit(scheduled);
        }
    }

    private void countHit(ScheduledFault scheduled) {
        scheduled.hits.increment();
        Objects.requireNonNull(hitsByKind.get(scheduled.fault.kind())).increment();
    }

    /** Combines the effects of several faults on one request. */
    private final class PlanBuilder {
        private final List<CompletableFuture<Void>> holds = new ArrayList<>();
        private Duration delay = Duration.ZERO;
        private Duration burn = Duration.ZERO;
        private @Nullable ResponseFault reset;
        private @Nullable ResponseFault status;
        private @Nullable ResponseFault truncated;
        private @Nullable ResponseFault trickled;

        private void add(ScheduledFault scheduled) {
            switch (scheduled.fault.effect()) {
                case Effect.AddLatency latency ->
                    delay = delay.plus(latency.delays().draw(scheduled.random));
                case Effect.DelayDuringRamp slow -> delay = delay.plus(remainingDelay(slow, scheduled.age()));
                case Effect.BurnCpu cpu -> burn = burn.plus(cpu.burn());
                case Effect.HoldUntilHealed _ -> holds.add(scheduled.healed);
                case Effect.ResetConnection _ -> reset = new ResponseFault.ConnectionReset();
                case Effect.AnswerErrors errors -> {
                    ResponseFault drawn = drawStatus(errors, scheduled.random);
                    if (drawn == null) {
                        return;
                    }
                    status = drawn;
                }
                case Effect.TruncateBody truncate -> truncated = new ResponseFault.TruncatedBody(truncate.share());
                case Effect.TrickleBody trickle ->
                    trickled = new ResponseFault.TrickledBody(trickle.bytes(), trickle.interval());
                case Effect.TakeConnections _, Effect.LockRow _ -> {
                    takeResources(scheduled);
                    return;
                }
            }
            countHit(scheduled);
        }

        private FaultPlan build() {
            ResponseFault responseFault = reset != null
                    ? reset
                    : status != null
                            ? status
                            : truncated != null
                                    ? truncated
                                    : trickled != null ? trickled : FaultPlan.NONE.responseFault();
            return new FaultPlan(List.copyOf(holds), delay, burn, responseFault);
        }

        private static @Nullable ResponseFault drawStatus(Effect.AnswerErrors errors, Random random) {
            double left = random.nextDouble();
            for (Map.Entry<Integer, Double> share : errors.shares().entrySet()) {
                left -= share.getValue();
                if (left < 0) {
                    return new ResponseFault.ErrorStatus(share.getKey());
                }
            }
            return null;
        }

        private static Duration remainingDelay(Effect.DelayDuringRamp slow, Duration age) {
            double left = 1 - (double) age.toNanos() / slow.ramp().toNanos();
            return left <= 0
                    ? Duration.ZERO
                    : Duration.ofNanos((long) (slow.delay().toNanos() * left));
        }
    }
}
