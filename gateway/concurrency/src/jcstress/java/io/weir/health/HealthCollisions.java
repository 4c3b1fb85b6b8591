package io.weir.health;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LL_Result;

/**
 * Pairs of concurrent operations on a backend's health, on real hardware. An outcome ends with the number of
 * times that each taken permit was given back, or with the state after both operations. Outcomes that are not
 * listed are forbidden.
 */
public final class HealthCollisions {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private HealthCollisions() {}

    /** Counts the permits that the health gives back. */
    static final class Returned implements Health.Permits {

        private final AtomicInteger permits = new AtomicInteger();

        int returned() {
            return permits.get();
        }

        @Override
        public int limit() {
            return 1;
        }

        @Override
        public void limitChanged() {}

        @Override
        public void giveBack(int calls) {
            permits.addAndGet(calls);
        }
    }

    static Health health(Returned permits) {
        return new Health("orders", settings(1), permits, () -> SECOND, () -> 0.5);
    }

    static HealthSettings settings(int window) {
        CircuitBreakerProperties breaker = new CircuitBreakerProperties(
                50, 100, null, SlidingWindowType.COUNT_BASED, window, 1, 1, null, 5, Set.of(500), Set.of(), true);
        RecoveryProperties recovery =
                new RecoveryProperties(null, Duration.ofMillis(100), 5, Duration.ofSeconds(30), null);
        return new HealthSettings(breaker, recovery, SECOND);
    }

    /** A call ends while another one's stall opens the breaker. */
    @JCStressTest
    @Outcome(id = "1, OPEN", expect = ACCEPTABLE, desc = "The call or the opening gave the permit back.")
    @Outcome(id = "0, .*", expect = FORBIDDEN, desc = "Permit lost.")
    @Outcome(id = "2, .*", expect = FORBIDDEN, desc = "Permit given back twice: one call too many.")
    @State
    public static class LeaveMeetsOpening {
        private final Returned permits = new Returned();
        private final Health health = health(permits);
        private final @Nullable Generation call = health.enter(SECOND, true);

        @Actor
        public void leave() {
            if (call != null && call.leave()) {
                permits.giveBack(1);
            }
        }

        @Actor
        public void stall() {
            health.stalled(call, SECOND, SECOND, SECOND - 1, 2 * SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = permits.permits.get();
            r.r2 = health.state();
        }
    }

    /** A call enters while the breaker opens; a call that has entered leaves afterwards. */
    @JCStressTest
    @Outcome(id = "refused, 0", expect = ACCEPTABLE, desc = "Opened first.")
    @Outcome(id = "entered, 1", expect = ACCEPTABLE, desc = "Entered first: the opening gave the permit back.")
    @Outcome(id = "entered, 2", expect = FORBIDDEN, desc = "Permit given back twice.")
    @Outcome(id = "entered, 0", expect = FORBIDDEN, desc = "Permit lost.")
    @State
    public static class EnterMeetsOpening {
        private final Returned permits = new Returned();
        private final Health health = health(permits);
        private @Nullable Generation call;

        @Actor
        public void enter(LL_Result r) {
            call = health.enter(SECOND, true);
            r.r1 = call == null ? "refused" : "entered";
        }

        @Actor
        public void open() {
            health.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            if (call != null && call.leave()) {
                permits.giveBack(1);
            }
            r.r2 = permits.permits.get();
        }
    }

    /** An operator forces the breaker closed while a failure opens it. */
    @JCStressTest
    @Outcome(id = "DISABLED, true", expect = ACCEPTABLE, desc = "The operator has the last word.")
    @Outcome(id = "OPEN, .*", expect = FORBIDDEN, desc = "The failure has undone the operator's decision.")
    @State
    public static class ForcingMeetsFailure {
        private final Returned permits = new Returned();
        private final Health health = health(permits);
        private final @Nullable Generation call = health.enter(SECOND, true);

        @Actor
        public void force() {
            health.operator().forceClosed();
        }

        @Actor
        public void fail() {
            health.failed(call, 1, new BackendFailure("reset"), SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = health.state();
            r.r2 = health.permits(SECOND);
        }
    }

    /** An operator forces the breaker closed while a reload changes its thresholds. */
    @JCStressTest
    @Outcome(id = "DISABLED, true", expect = ACCEPTABLE, desc = "The operator has the last word.")
    @Outcome(id = "CLOSED, .*", expect = FORBIDDEN, desc = "The reload has undone the operator's decision.")
    @State
    public static class ForcingMeetsReload {
        private final Health health = health(new Returned());
        private final HealthSettings other = settings(2);

        @Actor
        public void force() {
            health.operator().forceClosed();
        }

        @Actor
        public void reload() {
            health.configure(other);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = health.state();
            r.r2 = health.permits(SECOND);
        }
    }

    /** Two probes are answered at once. */
    @JCStressTest
    @Outcome(id = "HALF_OPEN, 0", expect = ACCEPTABLE, desc = "One recovery, and no probe is left.")
    @State
    public static class ProbeMeetsProbe {
        private final Health health = health(new Returned());
        private final ProbeSchedule schedule = new ProbeSchedule(health.settings(), () -> 0.5, 0);
        private final Probe first = new Probe(schedule, 0, SECOND, true, false);
        private final Probe second = new Probe(schedule, 0, SECOND, false, false);

        public ProbeMeetsProbe() {
            health.operator().openNow();
        }

        @Actor
        public void first() {
            health.probes().answered(first, SECOND);
        }

        @Actor
        public void second() {
            health.probes().answered(second, SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = health.state();
            r.r2 = health.probes().underWay();
        }
    }

    /** Of two callers that find the same probe due, one becomes the probe. */
    @JCStressTest
    @Outcome(id = "1, 1", expect = ACCEPTABLE, desc = "One probe.")
    @State
    public static class DueProbeMeetsTwoCallers {
        private final ProbeSchedule schedule =
                new ProbeSchedule(health(new Returned()).settings(), () -> 0.5, 0);
        private final AtomicInteger started = new AtomicInteger();

        private void start() {
            if (schedule.tryStart(SECOND, SECOND, true) != null) {
                started.incrementAndGet();
            }
        }

        @Actor
        public void first() {
            start();
        }

        @Actor
        public void second() {
            start();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = started.get();
            r.r2 = schedule.underWay();
        }
    }
}
