package io.weir.sim.faults;

import java.time.Duration;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;
import org.springframework.http.server.PathContainer;
import org.springframework.web.util.pattern.PathPattern;

/**
 * A fault, every figure of it checked.
 *
 * @param entry as it was written
 * @param probability share of the requests on its path that it strikes
 * @param path null: every request
 * @param after from the posting to its beginning
 * @param duration from its beginning until it heals by itself; null: never
 */
record Fault(
        FaultEntry entry,
        FaultKind kind,
        Effect effect,
        double probability,
        @Nullable PathPattern path,
        Duration after,
        @Nullable Duration duration) {

    /** What it does. */
    sealed interface Effect {

        record Latency(Delays delays) implements Effect {}

        record Errors(SortedMap<Integer, Double> shares) implements Effect {}

        record Hang() implements Effect {}

        record Reset() implements Effect {}

        record Truncate(double share) implements Effect {}

        record Trickle(int bytes, Duration interval) implements Effect {}

        record SlowStart(Duration delay, Duration ramp) implements Effect {}

        record Cpu(Duration burn) implements Effect {}

        record Pool(int connections) implements Effect {}

        record Lock(long row) implements Effect {}
    }

    boolean concerns(PathContainer requested) {
        return path == null || path.matches(requested);
    }

    /** Whether it strikes by being there, without a request that draws it. */
    boolean strikesAtOnce() {
        return path == null && probability == 1;
    }
}
