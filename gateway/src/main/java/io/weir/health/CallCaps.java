package io.weir.health;

import io.weir.health.HealthState.Drained;
import io.weir.health.HealthState.HalfOpen;
import org.jspecify.annotations.Nullable;

/** The limits on concurrent calls that follow from the state of a backend or of an instance. */
public final class CallCaps {

    private final StateMachine machine;

    CallCaps(StateMachine machine) {
        this.machine = machine;
    }

    /**
     * Enters a call that holds a permit, unless the instance already has as many calls as an instance may
     * have at a time.
     *
     * @return as for {@link Health#enter}; null also if the instance is full
     */
    public @Nullable Generation enterBelowCap(long now) {
        while (true) {
            HealthGroup group = machine.membership().peers();
            Generation generation = machine.settle(now).generation();
            if (generation == null) {
                return null;
            }
            if (group == null || group.maxCallsEach() == Integer.MAX_VALUE) {
                if (generation.enter()) {
                    return generation;
                }
                continue;
            }
            if (generation.enterBelow(group.maxCallsEach())) {
                return generation;
            }
            if (!generation.isClosed()) {
                return null;
            }
        }
    }

    /** Enters a call of a route, unless its ramp is full. */
    @Nullable
    Generation enterBelowRamp(long now) {
        while (true) {
            HealthState seen = machine.settle(now);
            Generation generation = seen.generation();
            if (generation == null) {
                return null;
            }
            int most = seen instanceof HalfOpen ramp ? ramp.ramp() : Integer.MAX_VALUE;
            if (generation.enterBelow(most)) {
                return generation;
            }
            if (!generation.isClosed()) {
                return null;
            }
        }
    }

    /** The limit on calls that the state sets; {@link Integer#MAX_VALUE}: none. */
    public int maxCalls() {
        boolean isEnforced = machine.settings().breaker().enforce();
        HealthGroup group = machine.membership().members();
        if (group != null) {
            return isEnforced ? group.maxCalls(machine.compartment().limit()) : group.room();
        }
        int cap = machine.membership().capOfOnly();
        return machine.present() instanceof HalfOpen ramp && isEnforced ? Math.min(ramp.ramp(), cap) : cap;
    }

    /**
     * The share of the backend's limit that {@link #maxCalls} is while instances are out; 1: it is no share,
     * or there is no limit; 0: it changes with each call.
     */
    public double limitShare() {
        HealthGroup group = machine.membership().members();
        return group == null || !machine.settings().breaker().enforce() ? 1 : group.limitShare();
    }

    /** Whether the ramp of a recovering instance has no room for another call. */
    public boolean isRampFull() {
        return machine.present() instanceof HalfOpen ramp && ramp.generation().inFlight() >= ramp.ramp();
    }

    /** Whether an instance has as many calls as an instance may have at a time. */
    public boolean isAtCap() {
        HealthGroup group = machine.membership().peers();
        return group != null && inFlight() >= group.maxCallsEach();
    }

    /** Whether an instance has as many calls as its share of the backend's limit. */
    public boolean isAtShare() {
        return inFlight()
                >= machine.membership().share() * machine.compartment().limit();
    }

    /** Calls with a permit that entered in the present state; of a drained instance, those under way. */
    int inFlight() {
        HealthState seen = machine.present();
        Generation generation = seen instanceof Drained drained ? drained.leaving() : seen.generation();
        return generation == null ? 0 : generation.inFlight();
    }
}
