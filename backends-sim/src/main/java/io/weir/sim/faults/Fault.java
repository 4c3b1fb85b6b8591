package io.weir.sim.faults;

import java.time.Duration;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;

/**
 * A validated fault.
 *
 * @param definition the fault as the operator wrote it
 * @param probability probability that the fault affects a request on its path
 * @param path pattern of the affected paths; null: every request
 * @param after time from posting until the fault starts
 * @param duration time from its start until the fault heals by itself; null: it never does
 */
record Fault(
        FaultDefinition definition,
        FaultKind kind,
        Effect effect,
        double probability,
        @Nullable PathPattern path,
        Duration after,
        @Nullable Duration duration) {

    /** The effect on a request or on the database. */
    sealed interface Effect {

        record AddLatency(DelayDistribution delays) implements Effect {}

        record AnswerErrors(SortedMap<Integer, Double> shares) implements Effect {}

        record HoldUntilHealed() implements Effect {}

        record ResetConnection() implements Effect {}

        record TruncateBody(double share) implements Effect {}

        record TrickleBody(int bytes, Duration interval) implements Effect {}

        record DelayDuringRamp(Duration delay, Duration ramp) implements Effect {}

        record BurnCpu(Duration burn) implements Effect {}

        record TakeConnections(int connections) implements Effect {}

        record LockRow(long row) implements Effect {}
    }

    boolean matches(PathContainer requested) {
        return path == null || path.matches(requested);
    }

    /** Whether the fault acts from its start on, without waiting for a request. */
    boolean actsImmediately() {
        return path == null && probability == 1;
    }
}
