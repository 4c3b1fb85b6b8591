package io.weir.health;

import io.weir.health.HealthState.Closed;
import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.HalfOpen;
import io.weir.health.HealthState.Open;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The relation of a {@link Health} to the others of the same backend: the transitions that follow from
 * theirs, and the evidence that is judged together with theirs.
 */
public final class GroupRole {

    private final Health health;
    private final StateMachine machine;
    private final OperatorHold operator;

    GroupRole(Health health, StateMachine machine, OperatorHold operator) {
        this.health = health;
        this.machine = machine;
        this.operator = operator;
    }

    /** The routes of a backend, and the origins of its outcomes. Of any other health: unused. */
    public BackendRoutes routes() {
        return machine.routes();
    }

    /**
     * The instance fails, and its peers do not.
     *
     * @param isRampJudged whether the failures also end its ramp, which has rules of its own
     */
    void eject(boolean isRampJudged, String why, long now) {
        HealthState seen = machine.present();
        if (seen instanceof Closed || (isRampJudged && seen instanceof HalfOpen)) {
            machine.open(seen, false, why, now);
        }
    }

    /** All instances of the backend open. */
    void openWithPeers(boolean isStalled, String why, long now) {
        HealthState seen = machine.present();
        while (seen.generation() != null && !(seen instanceof Forced)) {
            machine.open(seen, isStalled, why, now);
            seen = machine.present();
        }
    }

    /**
     * Derives the state of a backend with several instances.
     *
     * @param group the group that derives it; without effect if another one leads the backend
     * @param seen the backend's state, read before its instances
     * @param in the instances that are in
     * @param opened the instance that has just opened; null: none has
     * @return false: the state has changed meanwhile, and must be derived again
     */
    // Concurrency: `lead` and `becomeSingle` replace first the group and then the state. So a thread of the
    // previous group either finds another group here, or its CAS fails.
    boolean follow(HealthGroup group, HealthState seen, int in, @Nullable Health opened) {
        if (machine.membership().members() != group) {
            return true;
        }
        long now = machine.now();
        boolean isDone = true;
        if (in == 0 && (seen instanceof Closed || seen instanceof HalfOpen)) {
            boolean isStalled = opened != null && opened.present() instanceof Open open && open.isStalled();
            String why =
                    opened == null ? "all instances are open" : "all instances are open; the last: " + opened.why();
            // Not the other instances: one of them may have returned meanwhile.
            isDone = machine.becomeOpen(seen, isStalled, why, now);
        } else if (in > 0 && seen instanceof Open open) {
            isDone = machine.transition(
                    open,
                    new Closed(
                            new Generation(now),
                            machine.window(),
                            open.relapses(),
                            now,
                            now,
                            "an instance answers again"));
        } else if (opened != null && seen instanceof Closed closed) {
            // The results of the instance that has opened say nothing about the others.
            isDone = machine.transition(closed, closed.withWindow(machine.window()));
        }
        machine.compartment().limitChanged();
        return isDone;
    }

    /** Becomes the health of a backend with these instances. Returns the previous ones. */
    @Nullable
    HealthGroup lead(HealthGroup group) {
        HealthGroup previous = machine.membership().lead(group);
        machine.renew();
        return previous;
    }

    /**
     * Becomes the health of a backend with one instance.
     *
     * @param maxCalls the largest number of concurrent calls in the instance; {@link Integer#MAX_VALUE}: none
     */
    public void becomeSingle(int maxCalls) {
        boolean isOther = machine.membership().capOnly(maxCalls);
        HealthGroup previous = machine.membership().lead(null);
        if (previous != null) {
            machine.renew();
            previous.leave(List.of());
        }
        if (previous != null || isOther) {
            machine.compartment().limitChanged();
        }
    }

    /**
     * Takes over the state of another health of the same instance, if this one is closed: the instance has
     * become one of several, or the only one.
     */
    public void takeStateOf(Health other) {
        machine.pushback().takeOver(other.pushback());
        HealthState seen = machine.present();
        if (!(seen instanceof Closed)) {
            return;
        }
        long now = machine.now();
        switch (other.present()) {
            case Open open -> machine.open(seen, open.isStalled(), open.why(), now);
            case HalfOpen ramp -> {
                machine.open(seen, false, ramp.why(), now);
                if (machine.present() instanceof Open open) {
                    machine.halfOpen(open, ramp.why(), now);
                }
            }
            case Forced forced -> machine.transition(seen, operator.like(forced, now));
            case Closed _, Drained _ -> {
                // Nothing to take over: the drain is of the instance, not of the backend.
            }
        }
    }

    /**
     * A call ended with a sign of overload, which is no failure of the backend. An instance whose peers show
     * no such sign has failed.
     *
     * @param generation as for {@link Health#succeeded}
     */
    public void overloaded(@Nullable Generation generation, BackendFailure failure, long now) {
        HealthGroup group = machine.membership().peers();
        if (group != null && generation != null && generation == machine.generation()) {
            group.overloaded(health, failure, now);
        }
    }

    /**
     * Whether a sign of overload is one of the whole backend. Of an instance with peers, only if half of its
     * peers fail, too.
     */
    public boolean isOverloadShared(long now) {
        HealthGroup group = machine.membership().peers();
        return group == null || group.isOverloadShared(health, now);
    }

    /**
     * The failures in a row of an instance that cools down: its peers have answered too few calls since. 0:
     * it does not cool down. In a state that an operator forces, failures have no effect.
     */
    public int coolDownFailures(long now) {
        HealthGroup group = machine.membership().peers();
        return group == null || machine.present() instanceof Forced ? 0 : group.coolDownFailures(health, now);
    }

    /**
     * As {@link Generation#recoveryNanos}; of several instances that get calls, the shortest; 0 while none is
     * in.
     */
    public long recoveryNanos() {
        HealthGroup group = machine.membership().members();
        Generation generation = machine.generation();
        return group != null ? group.recoveryNanos() : generation == null ? 0 : generation.recoveryNanos();
    }

    /**
     * Derives the state of a backend with several instances again. At the moment of an opening, the limit may
     * still count the opened instance.
     */
    public void refresh() {
        HealthGroup group = machine.membership().members();
        if (group != null) {
            group.changed(null);
        }
    }

    /** Leaves the group, with which the instance has left the backend. */
    void leavePeers() {
        machine.membership().leavePeers();
    }

    /** Becomes a member of a group, in place of its present one. */
    void join(HealthGroup group, double shareOfLimit) {
        machine.membership().join(group, shareOfLimit);
    }
}
