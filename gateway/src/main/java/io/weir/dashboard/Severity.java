package io.weir.dashboard;

import io.weir.management.BackendView;
import java.util.List;

/**
 * The severity of a backend's worst problem; the dashboard shows the most serious backends first.
 *
 * <p>Problems that callers notice rank first, by the share of callers affected. Fewer than {@value
 * #FEWEST_EXCHANGES} exchanges count as so many: one failed call of a backend that has hardly any is not the
 * trouble of a backend that is down. Then come breakers that an operator has forced, then early signs: slow
 * calls, an ejected instance, a limit at its floor, a queue, a limit at its ceiling, no free permit.
 *
 * @param score 0: no problem; 100: no call is served
 * @param word the worst problem: {@code open}, {@code half-open}, {@code failing}, {@code forced-open},
 *     {@code forced-closed}, {@code hanging}, {@code instance-out}, {@code limit-at-floor}, {@code
 *     queueing}, {@code limit-at-ceiling}, {@code full}, or {@code calm} for none
 */
record Severity(int score, String word) {

    static final Severity NONE = new Severity(0, "calm");

    private static final int OPEN = 80;
    private static final int HALF_OPEN = 75;
    private static final int FORCED = 60;
    private static final int HANGING = 30;
    private static final int INSTANCE_OUT = 28;
    /** Above a queue and a full limit, which come and go each second while the limit is at its floor. */
    private static final int LIMIT_AT_FLOOR = 27;

    private static final int QUEUEING = 25;
    /** Above a full limit, which comes and goes each second while the limit is at its ceiling. */
    private static final int LIMIT_AT_CEILING = 22;

    private static final int FULL = 20;
    /** The share of calls that find the limit reached, and the calls a second, of the alerts for a limit. */
    private static final double USED = 0.5;

    private static final double MIN_CALLS_PER_SECOND = 0.1;
    /** The number from which the breaker, too, computes a failure rate by default. */
    private static final int FEWEST_EXCHANGES = 20;
    /**
     * The largest addition to the base score of a failing backend, in proportion to the share of shed or
     * failed exchanges.
     */
    private static final int FAILING_RANGE = 35;

    private static final int FAILING_BASE = 40;
    /** The largest addition to the score of a breaker that is not closed, in proportion to the same share. */
    private static final int BREAKER_RANGE = 20;

    /**
     * The severity of a backend's worst problem.
     *
     * @param troubled its recent exchanges that were shed or failed
     * @param ended all of its recent exchanges
     */
    static Severity of(BackendView now, long troubled, long ended) {
        double troubleShare = (double) troubled / Math.max(FEWEST_EXCHANGES, ended);
        int byShare = (int) Math.round(BREAKER_RANGE * troubleShare);
        Severity worst =
                switch (now.breaker().state()) {
                    case "open" -> new Severity(OPEN + byShare, "open");
                    case "half-open" -> new Severity(HALF_OPEN + byShare, "half-open");
                    case "forced-open" -> new Severity(FORCED + byShare, "forced-open");
                    case "forced-closed" -> new Severity(FORCED, "forced-closed");
                    default -> NONE;
                };
        if (troubled > 0) {
            int score = FAILING_BASE + (int) Math.round(FAILING_RANGE * troubleShare);
            worst = worse(worst, new Severity(score, "failing"));
        }
        BackendView.Calls calls = now.calls();
        if (now.breaker().overdue() > 0) {
            worst = worse(worst, new Severity(HANGING, "hanging"));
        }
        if (hasEjectedInstance(now)) {
            worst = worse(worst, new Severity(INSTANCE_OUT, "instance-out"));
        }
        if (isAdaptiveLimitInUse(now)) {
            if (now.limit().own() <= now.limit().min()) {
                worst = worse(worst, new Severity(LIMIT_AT_FLOOR, "limit-at-floor"));
            } else if (now.limit().own() >= now.limit().max()) {
                worst = worse(worst, new Severity(LIMIT_AT_CEILING, "limit-at-ceiling"));
            }
        }
        if (calls.waiting() > 0) {
            worst = worse(worst, new Severity(QUEUEING, "queueing"));
        }
        if (calls.active() >= calls.limit()) {
            worst = worse(worst, new Severity(FULL, "full"));
        }
        return worst;
    }

    /**
     * Whether calls keep an adaptive limit reached: as in the alerts WeirLimitAtFloor and WeirLimitAtCeiling,
     * but at this moment.
     */
    private static boolean isAdaptiveLimitInUse(BackendView now) {
        BackendView.LimitView limit = now.limit();
        BackendView.Law law = now.law();
        Double utilisation = limit.utilisation();
        return limit.binds().equals("auto")
                && limit.min() < limit.max()
                && utilisation != null
                && utilisation > USED
                && law != null
                && law.arrivalRate() > MIN_CALLS_PER_SECOND;
    }

    /** An instance that an operator has drained is no problem. */
    private static boolean hasEjectedInstance(BackendView now) {
        List<BackendView.InstanceView> instances = now.instances();
        return instances != null
                && instances.stream()
                        .map(one -> one.breaker().state())
                        .anyMatch(state -> state.equals("open") || state.equals("half-open"));
    }

    private static Severity worse(Severity one, Severity other) {
        return other.score > one.score ? other : one;
    }
}
