package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.Limit.Change;
import io.weir.limit.Limit.Evidence;

/**
 * A limit and the calls that end under it. All times are sums of powers of two, so that each comparison with
 * a threshold is exact.
 */
abstract class KneeTests {

    static final double DEADLINE = 1;
    static final double LATENCY = 1 / 16.;

    /** Longer than a third of the deadline. */
    static final double LONG = 3 / 8.;

    double now;
    Knee knee = limit(8);

    static Knee limit(int initial) {
        return new Knee(new LimitBounds(2, 1000, initial), DEADLINE, 0);
    }

    void answer(double spacing, double latency, int inFlight) {
        end(spacing, latency, Evidence.ANSWERED, inFlight);
    }

    void end(double spacing, double latency, Evidence evidence, int inFlight) {
        now += spacing;
        knee.ended(now, latency, evidence, false, inFlight, inFlight);
    }

    /** Calls that end at even intervals while all permits are in use, by Little's law. */
    void saturate(int calls, double latency) {
        for (int i = 0; i < calls; i++) {
            answer(latency / knee.value(), latency, knee.value());
        }
    }

    /** Calls of which one at a time is in flight: samples of the base latency. */
    void calm(int calls, double latency) {
        for (int i = 0; i < calls; i++) {
            now += 1 / 64.;
            knee.ended(now, latency, Evidence.ANSWERED, true, 1, 1);
        }
    }

    /** A base latency that is trusted: then a probe waits for the next second. */
    void trust(int limit, double latency) {
        knee = limit(limit);
        calm(96, latency);
        assertThat(knee.baseLatency()).isEqualTo(latency);
        assertThat(knee.wholeLimit()).isEqualTo(limit);
    }

    /** Calls of this latency until a probe runs. */
    void untilProbed(double latency) {
        for (int i = 0; knee.lastChange() != Change.PROBE; i++) {
            assertThat(i).as("calls before a probe").isLessThan(10_000);
            saturate(1, latency);
        }
    }

    /** A probe holds half of the limit until enough calls have ended. */
    void probe(double latency, int inFlight) {
        assertThat(knee.isHolding()).isTrue();
        for (int i = 0; knee.isHolding(); i++) {
            assertThat(i).as("calls in a probe").isLessThan(10_000);
            answer(latency / inFlight, latency, inFlight);
            if (knee.isHolding()) {
                knee.started(now, inFlight);
            }
        }
    }
}
