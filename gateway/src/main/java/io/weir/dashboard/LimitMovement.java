package io.weir.dashboard;

import io.weir.management.BackendView;
import io.weir.management.BackendView.InstanceView;
import io.weir.management.BackendView.LimitView;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/**
 * The reason for which the limit in force of a backend moved between two snapshots, as one word.
 *
 * <p>An adaptive limit that has learnt gives its own reason, as in {@code weir_limit_changes_total}: {@code
 * growth}, {@code growth-reverted}, {@code queueing}, {@code shedding}, {@code timeouts}, {@code recovery} or
 * {@code probe}. Every other movement has another cause, for which the limit's last reason would be wrong:
 * {@code ramp} and {@code ramp-ended} of a backend that recovers, {@code operator} and {@code
 * operator-ended}, {@code signal} and {@code signal-ended} of a backend that states its capacity, {@code
 * instances} that take calls no more or again, and {@code configuration} for a reload and for the number of
 * gateways that share a fixed limit.
 *
 * <p>Several movements within a second are one, with the last reason.
 */
final class LimitMovement {

    /** The limit has not moved. */
    static final String NONE = "";

    private static final String AUTO = "auto";
    private static final String RAMP = "ramp";
    private static final String OPERATOR = "operator";
    private static final String SIGNAL = "signal";
    private static final String PROBE = "probe";
    private static final String ENDED = "-ended";
    private static final String INSTANCES = "instances";
    private static final String CONFIGURATION = "configuration";
    /** The states in which an instance takes calls. */
    private static final Set<String> TAKING = Set.of("closed", "half-open", "forced-closed");

    private LimitMovement() {}

    /** The reason for the movement from one snapshot to the next; {@link #NONE}: there is none. */
    static String reason(BackendView before, BackendView now) {
        LimitView from = before.limit();
        LimitView to = now.limit();
        if (from.inForce() == to.inForce()) {
            return NONE;
        }
        if (taking(before) != taking(now)) {
            return INSTANCES;
        }
        boolean hasInstances = now.instances() != null;
        if (to.binds().equals(RAMP)) {
            return hasInstances ? INSTANCES : RAMP;
        }
        if (from.binds().equals(RAMP)) {
            return hasInstances ? INSTANCES : RAMP + ENDED;
        }
        if (to.binds().equals(OPERATOR)) {
            return OPERATOR;
        }
        if (from.binds().equals(OPERATOR)) {
            return OPERATOR + ENDED;
        }
        if (to.binds().equals(SIGNAL)) {
            return SIGNAL;
        }
        if (from.binds().equals(SIGNAL)) {
            return SIGNAL + ENDED;
        }
        return to.binds().equals(AUTO) && from.binds().equals(AUTO) ? learnt(from, to) : CONFIGURATION;
    }

    /** After a probe, the limit shows again the reason from before it, and that reason's time. */
    private static String learnt(LimitView from, LimitView to) {
        String before = from.changedAt();
        String now = to.changedAt();
        if (now == null || now.equals(before) || to.reason().equals("initial")) {
            // Nothing was learnt: the configuration has moved the bounds.
            return CONFIGURATION;
        }
        boolean isProbeOver = from.reason().equals(PROBE)
                && before != null
                && Instant.parse(now).isBefore(Instant.parse(before));
        return isProbeOver ? PROBE : to.reason();
    }

    /** The number of instances that take calls; of a backend with one address, 1. */
    private static long taking(BackendView view) {
        List<InstanceView> instances = view.instances();
        return instances == null
                ? 1
                : instances.stream()
                        .filter(instance -> TAKING.contains(instance.breaker().state()))
                        .count();
    }
}
