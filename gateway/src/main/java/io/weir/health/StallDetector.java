package io.weir.health;

import io.weir.health.HealthState.Forced;
import io.weir.health.HealthState.HalfOpen;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Opens the breaker of a backend that has stopped answering. {@link Generation} counts the calls. */
final class StallDetector {

    private final StateMachine machine;
    /** Calls under way that have waited for the stall time. */
    private final AtomicInteger overdue = new AtomicInteger();

    StallDetector(StateMachine machine) {
        this.machine = machine;
    }

    /** The parameters are those of {@link Health#stalled}. */
    void stalled(@Nullable Generation generation, long sentAt, long silentSince, long judgedSince, long now) {
        HealthState seen = machine.present();
        if (generation == null || seen.generation() != generation || seen instanceof Forced) {
            return;
        }
        GroupMembership membership = machine.membership();
        HealthGroup group = membership.peers();
        if (group != null) {
            group.stalled(sentAt, silentSince, judgedSince, now);
        }
        generation.countStalled(sentAt, silentSince, judgedSince);
        int limit = Math.min(machine.compartment().limit(), membership.cap());
        if (seen instanceof HalfOpen ramp) {
            limit = Math.min(ramp.ramp(), limit);
        }
        int calls = generation.stalled(isFull(generation, limit));
        int configured = machine.settings().breaker().stallCalls();
        int stallCalls = group == null ? configured : group.stallCalls(configured, sentAt);
        if (calls > 0 && calls >= Math.min(stallCalls, limit)) {
            String why = "stalled, no answer for %s, %d calls unanswered"
                    .formatted(
                            OutcomeJudge.seconds(generation.stalledNanos(now)), Math.max(calls, generation.inFlight()));
            machine.fail(seen, true, why, now);
        }
    }

    /** Whether the calls that wait for an answer hold all permits, so that no other call can be sent. */
    private boolean isFull(Generation generation, int limit) {
        return generation.inFlight() >= limit
                || machine.membership().isFull(machine.compartment().limit());
    }

    void overdueBegan() {
        overdue.incrementAndGet();
    }

    void overdueEnded() {
        overdue.decrementAndGet();
    }

    int overdue() {
        HealthGroup group = machine.membership().members();
        return overdue.get() + (group == null ? 0 : group.overdue());
    }
}
