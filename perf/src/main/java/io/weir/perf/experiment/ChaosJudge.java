package io.weir.perf.experiment;

import io.weir.perf.result.Request;
import io.weir.perf.result.Requests;
import io.weir.perf.run.ChaosOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Judges the requests of a chaos run: which of its limits hold. */
final class ChaosJudge {

    /** The share of successes that a route has without faults, and again after one. */
    private static final double HEALTHY_PERCENT = 99;

    private final ChaosOptions options;
    private final long deadlineMillis;

    ChaosJudge(ChaosOptions options, long deadlineMillis) {
        this.options = options;
        this.deadlineMillis = deadlineMillis;
    }

    record Verdict(String condition, boolean holds, String measured) {}

    /** The neighbour during a fault, compared with its own calm phase. */
    List<Verdict> neighbour(Requests calm, Requests during) {
        double least = calm.successPercent() - options.maxLossPercent();
        double calmP99 = calm.percentile(99);
        double most = Math.max(calmP99 * options.maxSlowdown(), calmP99 + options.graceMillis());
        double p99 = during.percentile(99);
        return List.of(
                verdict(
                        during.successPercent() >= least,
                        during.successPercent(),
                        "neighbour: at least %.2f %% answered 200",
                        least),
                verdict(p99 <= most, p99, "neighbour: p99 at most %.1f ms", most));
    }

    Verdict longestWait(Requests requests) {
        double longest = requests.stream().mapToDouble(Request::millis).max().orElse(0);
        long most = deadlineMillis + options.slackMillis();
        return verdict(longest <= most, longest, "callers: nobody waits longer than %.0f ms", (double) most);
    }

    /**
     * Callers of a backend that hangs are refused at once as soon as the gateway knows it. It knows it after
     * the deadline and a second.
     *
     * @param beganMillis the fault's begin
     */
    Verdict waitingInVain(Requests during, long beganMillis) {
        Requests known = during.where(one -> one.atMillis() >= beganMillis + ChaosOptions.settleMillis(deadlineMillis));
        // A share of the calls that the fault spares is served in the usual time.
        double waiting = known.percent(one -> !one.succeeded() && one.millis() > deadlineMillis / 2.0);
        return verdict(
                !known.isEmpty() && waiting <= options.maxWaitingPercent(),
                waiting,
                "callers: at most %.1f %% wait for a backend that is known to hang",
                options.maxWaitingPercent());
    }

    Verdict recovery(Requests after, long endedMillis) {
        double seconds = secondsUntilServed(after, endedMillis);
        return new Verdict(
                "route: served again within %d s".formatted(options.recoverySeconds()),
                seconds <= options.recoverySeconds(),
                Double.isInfinite(seconds) ? "not" : String.format(Locale.ROOT, "after %.2f s", seconds));
    }

    /** Until the first success from which on at least 99 % of the phase succeed; infinite: there is none. */
    static double secondsUntilServed(Requests after, long endedMillis) {
        List<Request> all = after.all();
        int failed = 0;
        double found = Double.POSITIVE_INFINITY;
        for (int i = all.size() - 1; i >= 0; i--) {
            Request one = all.get(i);
            if (!one.succeeded()) {
                failed++;
            } else if (100.0 * failed <= (100 - HEALTHY_PERCENT) * (all.size() - i)) {
                found = Math.max(0, one.endMillis() - endedMillis) / 1000;
            }
        }
        return found;
    }

    /** Why the run says nothing: a route is not healthy without faults, or the fault has not acted. */
    List<String> invalid(String fault, Requests calm, Requests calmNeighbour, long calls) {
        List<String> reasons = new ArrayList<>();
        if (calm.successPercent() < HEALTHY_PERCENT) {
            reasons.add(unhealthy(fault, "route", calm));
        }
        if (calmNeighbour.successPercent() < HEALTHY_PERCENT) {
            reasons.add(unhealthy(fault, "neighbour", calmNeighbour));
        }
        if (calls == 0) {
            reasons.add(fault + ": the gateway has injected it into no call (expected: the path belongs to the route)");
        }
        return reasons;
    }

    private static String unhealthy(String fault, String who, Requests calm) {
        return String.format(
                Locale.ROOT,
                "before %s: only %.1f %% of the %s's requests were answered 200 (expected: 99 %%): %s",
                fault,
                calm.successPercent(),
                who,
                calm.countByOutcome());
    }

    private static Verdict verdict(boolean holds, double measured, String condition, double limit) {
        return new Verdict(
                String.format(Locale.ROOT, condition, limit), holds, String.format(Locale.ROOT, "%.2f", measured));
    }
}
