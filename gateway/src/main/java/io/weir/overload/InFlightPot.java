package io.weir.overload;

import io.weir.limit.Priority;
import io.weir.overload.InFlightShare.Claim;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The places for exchanges in flight: some are guaranteed to each backend, all others are shared.
 *
 * <p>An exchange within its backend's guaranteed share always gets a place. Beyond it, an exchange borrows a
 * shared place, if one is free for its class. Hence the backends together hold at most as many exchanges as
 * there are places, and none of them can use the places that are guaranteed to another one.
 *
 * <p>The cost for an exchange is one atomic operation at its begin and one at its end, and one more each if
 * it borrows, independent of the number of backends.
 */
// Concurrency: two atomics, the one of the backend's share first and then `borrowed`. An exchange that is
// refused is counted for a moment, so both may be too high, and another one that would borrow the last place
// is refused, too. They are never so low that too many are admitted: an exchange counts before it is.
final class InFlightPot {

    /**
     * The part of the pot that is divided equally among the backends without a configured share. It is the
     * price of the guarantee for a single busy backend: the places of those that are idle.
     */
    private static final int EQUAL_PARTS_PERCENT = 10;

    /**
     * A backend with one place could not even have two calls at once. So in a small pot the equal parts are
     * larger, up to this number.
     */
    private static final int SMALL_PART = 4;

    /** At most this part of the pot is divided equally, if the equal parts are small. */
    private static final int SMALL_PARTS_PERCENT = 25;

    private static final int PERCENT = 100;

    /** The shared places that exchanges of each class may use; those of the critical ones are all. */
    private record Shared(int critical, int normal, int sheddable) {

        static Shared of(int places) {
            return new Shared(places, part(Priority.NORMAL, places), part(Priority.SHEDDABLE, places));
        }

        /** Rounded up: a small pot admits at least one request of each class. */
        private static int part(Priority priority, int places) {
            return (int) Math.ceil(OverloadGuard.part(priority) * places);
        }

        int of(Priority priority) {
            return switch (priority) {
                case CRITICAL -> critical;
                case NORMAL -> normal;
                case SHEDDABLE -> sheddable;
            };
        }
    }

    private final int places;
    private final AtomicInteger borrowed = new AtomicInteger();
    private volatile Shared shared;
    /** Guarded by this. */
    private List<InFlightShare> divided = List.of();

    /** A pot that is not divided: all places are shared. */
    InFlightPot(int places) {
        this.places = places;
        this.shared = Shared.of(places);
    }

    /**
     * Takes a place for an exchange; {@link #giveBack} must follow.
     *
     * @return whether there was one
     */
    boolean take(InFlightShare share, Priority priority) {
        int max = shared.of(priority);
        // A refusal usually changes nothing, so that it does not disturb the others.
        if (share.isUsedUp() && borrowed.get() >= max) {
            return false;
        }
        if (!share.begin() || borrowed.incrementAndGet() <= max) {
            return true;
        }
        giveBack(share);
        return false;
    }

    /** Gives back the place of an exchange. */
    void giveBack(InFlightShare share) {
        if (share.end()) {
            borrowed.decrementAndGet();
        }
    }

    /**
     * Divides the pot among these backends. Exchanges in flight keep their places; those of other backends
     * borrow them from now on. A share that grows is available at once: until as many exchanges have ended,
     * there may be more exchanges than places.
     */
    synchronized void divide(List<Claim> claims) {
        int[] parts = parts(places, claims);
        int left = places;
        for (int part : parts) {
            left -= part;
        }
        // The lower limit applies while the numbers change.
        Shared next = Shared.of(left);
        if (next.critical() < shared.critical()) {
            shared = next;
        }
        List<InFlightShare> present = claims.stream().map(Claim::share).toList();
        divided.stream().filter(share -> !present.contains(share)).forEach(share -> guarantee(share, 0));
        for (int i = 0; i < parts.length; i++) {
            guarantee(present.get(i), parts[i]);
        }
        divided = present;
        shared = next;
    }

    private void guarantee(InFlightShare share, int guaranteed) {
        borrowed.addAndGet(share.guarantee(guaranteed));
    }

    /** The guaranteed places of each claim. */
    static int[] parts(int places, List<Claim> claims) {
        int[] parts = new int[claims.size()];
        int left = places;
        int equal = 0;
        for (int i = 0; i < parts.length; i++) {
            @Nullable Integer percent = claims.get(i).percent();
            if (percent == null) {
                equal++;
            } else {
                parts[i] = Math.min(left, percent(places, percent));
                left -= parts[i];
            }
        }
        int each = claims.size() == 1 ? 0 : equalPart(left, equal);
        for (int i = 0; i < parts.length; i++) {
            if (claims.get(i).percent() == null) {
                parts[i] = each;
            }
        }
        return parts;
    }

    /** The equal part of each of so many backends; 0 if the pot is tiny. */
    private static int equalPart(int left, int backends) {
        if (backends == 0) {
            return 0;
        }
        int part = percent(left, EQUAL_PARTS_PERCENT) / backends;
        return Math.max(part, Math.min(SMALL_PART, percent(left, SMALL_PARTS_PERCENT) / backends));
    }

    private static int percent(int places, int percent) {
        return (int) ((long) places * percent / PERCENT);
    }

    /** The limit of all exchanges together. */
    int places() {
        return places;
    }

    /** The exchanges beyond the guaranteed shares of their backends. */
    int borrowed() {
        return borrowed.get();
    }

    /** The places that no backend is guaranteed. */
    int shared() {
        return shared.critical();
    }
}
