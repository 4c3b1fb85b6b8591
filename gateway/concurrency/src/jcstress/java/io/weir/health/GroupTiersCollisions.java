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
 * The primaries of a backend open together while another transition happens, on real hardware. An outcome has
 * the states of the primaries and of the backup, and whether the backend fits them, as in
 * {@link HealthGroupCollisions}. Outcomes that are not listed are forbidden.
 */
public final class GroupTiersCollisions {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    static {
        // The log of each opening would take most of the time.
        if (LoggerFactory.getLogger("io.weir") instanceof Logger logback) {
            logback.setLevel(Level.OFF);
        }
    }

    private GroupTiersCollisions() {}

    /** A backend with two primaries and a backup. */
    abstract static class Trio {

        final HealthCollisions.Returned permits = new HealthCollisions.Returned();
        final Health backend = HealthCollisions.health(new HealthCollisions.Returned());
        final Health first = instance("first");
        final Health second = instance("second");
        final Health backup = instance("backup");
        final HealthGroup group = group(List.of(first, second, backup), 2, 0.5, 0.5, 1);

        Trio() {
            group.takeOver();
        }

        final HealthGroup group(List<Health> members, int primaries, double... shares) {
            return new HealthGroup(backend, members, primaries, shares, Integer.MAX_VALUE, () -> {});
        }

        private Health instance(String address) {
            return Health.ofInstance("orders", address, HealthCollisions.settings(1), permits, () -> SECOND, () -> 0.5);
        }

        final void openPrimaries() {
            group.openPrimaries(true, "stalled", SECOND);
        }

        final void result(LL_Result r) {
            r.r1 = first.state() + " " + second.state() + " " + backup.state();
            r.r2 = HealthGroupCollisions.fit(backend, group, first, second, backup);
        }
    }

    /** The backup opens at the same time. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The backend is open.")
    @State
    public static class PrimariesMeetOpeningOfBackup extends Trio {

        @Actor
        public void primaries() {
            openPrimaries();
        }

        @Actor
        public void backup() {
            backup.operator().openNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** A primary that was open returns at the same time. */
    @JCStressTest
    @Outcome(id = "HALF_OPEN OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "It returned last.")
    @Outcome(id = "OPEN OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "It returned first, and opened again.")
    @State
    public static class PrimariesMeetReturn extends Trio {

        public PrimariesMeetReturn() {
            first.operator().openNow();
        }

        @Actor
        public void primaries() {
            openPrimaries();
        }

        @Actor
        public void back() {
            first.operator().halfOpenNow();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
        }
    }

    /** Two threads find at once that the primaries hang; a call of the first one gives its permit back. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN CLOSED, 1", expect = ACCEPTABLE, desc = "Open; the permit returns once.")
    @Outcome(id = ".*, 0", expect = FORBIDDEN, desc = "Permit lost.")
    @Outcome(id = ".*, 2", expect = FORBIDDEN, desc = "Permit given back twice.")
    @State
    public static class PrimariesMeetPrimaries extends Trio {

        private final @Nullable Generation call = first.enter(SECOND, true);

        @Actor
        public void one() {
            openPrimaries();
        }

        @Actor
        public void other() {
            openPrimaries();
            if (call != null && call.leave()) {
                permits.giveBack(1);
            }
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
            r.r2 = HealthGroupCollisions.FITS.equals(r.r2) ? permits.returned() : r.r2;
        }
    }

    /** The evidence of all calls opens the backend at the same time. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN OPEN, fits", expect = ACCEPTABLE, desc = "The backend is open.")
    @State
    public static class PrimariesMeetOpeningOfAll extends Trio {

        @Actor
        public void primaries() {
            openPrimaries();
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

    /** A reload makes the backup a primary, and the primaries backups. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN CLOSED, fits", expect = ACCEPTABLE, desc = "The former backup serves.")
    @State
    public static class PrimariesMeetReload extends Trio {

        private final HealthGroup next = group(List.of(backup, first, second), 1, 1, 0.5, 0.5);

        @Actor
        public void primaries() {
            openPrimaries();
        }

        @Actor
        public void reload() {
            next.takeOver();
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
            r.r2 = HealthGroupCollisions.fit(backend, next, first, second, backup);
        }
    }

    /** A health check takes the backup out at the same time. */
    @JCStressTest
    @Outcome(id = "OPEN OPEN OPEN, fits", expect = ACCEPTABLE, desc = "All are out; probes decide.")
    @Outcome(id = "OPEN OPEN OPEN, held", expect = FORBIDDEN, desc = "The check keeps out the last instance.")
    @State
    public static class PrimariesMeetCheckOfBackup extends Trio {

        @Actor
        public void primaries() {
            openPrimaries();
        }

        @Actor
        public void check() {
            backup.verdict().failed("its health check fails", false, SECOND);
        }

        @Arbiter
        public void afterwards(LL_Result r) {
            result(r);
            if (backup.isHeldByCheck()) {
                r.r2 = "held";
            }
        }
    }
}
