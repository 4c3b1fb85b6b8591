package io.weir.health;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.slf4j.LoggerFactory;

/**
 * Pairs of concurrent transitions of a backend's instances, on real hardware. An outcome has the states of
 * the two instances, and whether the backend fits them: open if and only if no instance is in, and with the
 * ceiling that follows from the instances. Outcomes that are not listed are forbidden.
 */
public final class HealthGroupCollisions {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    static final String FITS = "fits";

    static {
        // The log of each opening would take most of the time.
        if (LoggerFactory.getLogger("io.weir") instanceof Logger logback) {
            logback.setLevel(Level.OFF);
        }
    }

    private HealthGroupCollisions() {}

    private static Health instance(String address) {
        return Health.ofInstance(
                "orders",
                address,
                HealthCollisions.settings(1),
                new HealthCollisions.Returned(),
                () -> SECOND,
                () -> 0.5);
    }

    /** A backend with two instances. */
    abstract static class Pair {

        final Health backend = HealthCollisions.health(new HealthCollisions.Returned());
        final Health first = instance("first");
        final Health second = instance("second");
        final HealthGroup group =
                new HealthGroup(backend, List.of(first, second), new double[] {0.5, 0.5}, Integer.MAX_VALUE, () -> {});

        Pair() {
            group.takeOver();
        }

        final void result(LL_Result r) {
            r.r1 = first.state() + " " + second.state();
            r.r2 = fit(backend, group, first, second);
        }
    }

    static String fit(Health backend, HealthGroup group, Health... members) {
        boolean isAnyIn = false;
        for (Health member : members) {
            isAnyIn |= member.isIn();
        }
        if (backend.isForced()) {
            return "forced";
        }
        if (backend.isIn() != isAnyIn) {
            return "backend " + backend.state() + ": " + backend.why();
        }
        int before = group.maxCalls(100);
        group.changed(null);
        return before == group.maxCalls(100) ? FITS : "ceiling " + before;
    }

    /** Both instances open at once. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The backend is open.")
    @State
    public static class OpeningMeetsOpening extends Pair {

        @Actor
        public void first() {
            first.operator().openNow();
        }

        @Actor
        public void second() {
            second.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** The last instance opens while the other one returns. */
    @JCStressTest
    @Outcome(id = "HALF_OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The backend is closed.")
    @State
    public static class OpeningMeetsReturn extends Pair {

        public OpeningMeetsReturn() {
            first.operator().openNow();
        }

        @Actor
        public void first() {
            first.operator().halfOpenNow();
        }

        @Actor
        public void second() {
            second.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** The evidence of all calls opens the backend while an instance returns. */
    @JCStressTest
    @Outcome(id = "HALF_OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The instance returned last.")
    @Outcome(id = "OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The instance returned before the opening.")
    @State
    public static class OpeningOfAllMeetsReturn extends Pair {

        public OpeningOfAllMeetsReturn() {
            first.operator().openNow();
        }

        @Actor
        public void first() {
            first.operator().halfOpenNow();
        }

        @Actor
        public void all() {
            backend.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /**
     * The evidence of all calls opens the backend while an instance opens by itself; the evidence is shown.
     */
    @JCStressTest
    @Outcome(id = "OPEN OPEN, fits", expect = ACCEPTABLE, desc = "Open.")
    @Outcome(id = ".*, all instances.*", expect = FORBIDDEN, desc = "The opening was undone, and derived again.")
    @State
    public static class OpeningOfAllMeetsOpening extends Pair {

        @Actor
        public void first() {
            first.operator().openNow();
        }

        @Actor
        public void all() {
            backend.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
            if (!backend.why().startsWith("opened through")) {
                r.r2 = backend.why();
            }
        }
    }

    /** An operator releases the backend while its instances open. */
    @JCStressTest
    @Outcome(id = "CLOSED CLOSED, fits", expect = ACCEPTABLE, desc = "Opened first, when nothing could open.")
    @Outcome(id = "OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "One was released before it opened.")
    @Outcome(id = "CLOSED OPEN, fits", expect = ACCEPTABLE, desc = "One was released before it opened.")
    @Outcome(id = "OPEN OPEN, fits", expect = ACCEPTABLE, desc = "Both were released before they opened.")
    @State
    public static class ReleaseMeetsOpening extends Pair {

        public ReleaseMeetsOpening() {
            backend.operator().forceClosed();
        }

        @Actor
        public void release() {
            backend.operator().release();
        }

        @Actor
        public void fail() {
            first.failed(first.enter(SECOND, false), 1, new BackendFailure("reset"), SECOND);
            first.role().openWithPeers(false, "failing", SECOND);
            second.role().openWithPeers(false, "failing", SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** A reload replaces all instances while the last of the old ones opens. */
    @JCStressTest
    @Outcome(id = "CLOSED CLOSED, fits", expect = ACCEPTABLE, desc = "The new instances count only.")
    @Outcome(id = "OPEN OPEN, .*", expect = FORBIDDEN, desc = "The old instances have opened the new ones.")
    @State
    public static class ReloadMeetsOpening extends Pair {
        private final Health third = instance("third");
        private final Health fourth = instance("fourth");
        private final HealthGroup next =
                new HealthGroup(backend, List.of(third, fourth), new double[] {0.5, 0.5}, Integer.MAX_VALUE, () -> {});

        public ReloadMeetsOpening() {
            first.operator().openNow();
        }

        @Actor
        public void open() {
            second.operator().openNow();
        }

        @Actor
        public void reload() {
            next.takeOver();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            // Opened before the reload, the backend has opened its old instances only.
            r.r1 = third.state() + " " + fourth.state();
            r.r2 = fit(backend, next, third, fourth);
        }
    }

    /** A reload keeps one instance while it opens, and the backend with it. */
    @JCStressTest
    @Outcome(id = "OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "The new instance is in.")
    @Outcome(id = "OPEN OPEN, .*", expect = FORBIDDEN, desc = "The old instances have opened the new one.")
    @State
    public static class ReloadMeetsOpeningOfOneThatStays extends Pair {
        private final Health third = instance("third");
        private final HealthGroup next =
                new HealthGroup(backend, List.of(second, third), new double[] {0.5, 0.5}, Integer.MAX_VALUE, () -> {});

        public ReloadMeetsOpeningOfOneThatStays() {
            first.operator().openNow();
        }

        @Actor
        public void open() {
            second.operator().openNow();
        }

        @Actor
        public void reload() {
            next.takeOver();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = second.state() + " " + third.state();
            r.r2 = fit(backend, next, second, third);
        }
    }

    /** A reload leaves one address while an instance of the others opens. */
    @JCStressTest
    @Outcome(id = "CLOSED, fits", expect = ACCEPTABLE, desc = "The backend is judged by its own calls only.")
    @Outcome(id = "OPEN, fits", expect = ACCEPTABLE, desc = "All instances were open before the reload.")
    @State
    public static class SingleMeetsOpening extends Pair {
        private boolean wasOpen;

        public SingleMeetsOpening() {
            first.operator().openNow();
        }

        @Actor
        public void open() {
            second.operator().openNow();
        }

        @Actor
        public void reload() {
            backend.role().becomeSingle(Integer.MAX_VALUE);
            wasOpen = !backend.isIn();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            r.r1 = backend.state();
            r.r2 = wasOpen == !backend.isIn() ? FITS : "opened after the reload";
        }
    }

    /** A health check takes out one instance while the other one's calls eject it. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN, fits", expect = ACCEPTABLE, desc = "Both are out; probes decide.")
    @Outcome(id = "OPEN OPEN, held", expect = FORBIDDEN, desc = "The check keeps out the last instance.")
    @State
    public static class CheckMeetsEjection extends Pair {

        @Actor
        public void check() {
            first.verdict().failed("its health check fails", false, SECOND);
        }

        @Actor
        public void eject() {
            second.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
            if (first.isHeldByCheck()) {
                r.r2 = "held";
            }
        }
    }

    /** A health check fails while a probe of the same instance is answered. */
    @JCStressTest
    @Outcome(id = "OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "The check keeps it out.")
    @State
    public static class CheckMeetsProbe extends Pair {
        private final Probe probe =
                new Probe(new ProbeSchedule(first.settings(), () -> 0.5, 0), 0, SECOND, false, false);

        public CheckMeetsProbe() {
            first.operator().openNow();
        }

        @Actor
        public void check() {
            first.verdict().failed("its health check fails", false, SECOND);
        }

        @Actor
        public void probe() {
            first.probes().answered(probe, SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** A health check fails while a call enters: its permit is given back once. */
    @JCStressTest
    @Outcome(id = "refused, 0", expect = ACCEPTABLE, desc = "Taken out first.")
    @Outcome(id = "entered, 1", expect = ACCEPTABLE, desc = "Entered first; the call keeps its permit.")
    @State
    public static class CheckMeetsEnter {
        private final HealthCollisions.Returned permits = new HealthCollisions.Returned();
        private final Health health = HealthCollisions.health(permits);
        private @Nullable Generation call;

        @Actor
        public void enter(LL_Result r) {
            call = health.enter(SECOND, true);
            r.r1 = call == null ? "refused" : "entered";
        }

        @Actor
        public void check() {
            health.verdict().failed("its health check fails", true, SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            if (call != null && call.leave()) {
                permits.giveBack(1);
            }
            r.r2 = permits.returned();
        }
    }
}
