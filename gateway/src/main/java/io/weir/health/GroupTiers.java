package io.weir.health;

import java.util.List;

/**
 * The two tiers of a backend's instances: the primaries, and the backups, which get calls only while no
 * primary can take all of them. Immutable; what is in is read from the healths.
 *
 * @param primaries the instances that are no backups
 * @param backups the others; empty: all instances are alike
 */
record GroupTiers(List<Health> primaries, List<Health> backups) {

    /** The tiers of members that are sorted: the primaries come first. */
    static GroupTiers of(List<Health> members, int primaries) {
        return new GroupTiers(members.subList(0, primaries), members.subList(primaries, members.size()));
    }

    /** Whether a backup is in that gets no calls, since a primary that is in has no ramp. */
    boolean hasReserve() {
        return !backups.isEmpty() && backups.stream().anyMatch(Health::isIn) && isPrimaryServing();
    }

    /** Whether the instance is among those that get calls, as far as they are in. */
    boolean isServing(Health member) {
        return backups.isEmpty() || !backups.contains(member) || !isPrimaryServing();
    }

    /** Whether a primary is in, and not in its ramp. */
    private boolean isPrimaryServing() {
        for (Health primary : primaries) {
            if (isServing(primary.present())) {
                return true;
            }
        }
        return false;
    }

    /** Whether a primary in this state leaves no calls to backups. */
    static boolean isServing(HealthState state) {
        return state.generation() != null && !(state instanceof HealthState.HalfOpen);
    }
}
