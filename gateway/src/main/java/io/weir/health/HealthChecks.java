package io.weir.health;

import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The verdicts of the health checks of a backend's instances, and their effect on the instances.
 *
 * <p><b>Verdicts.</b> An instance starts without a verdict, and gets calls. It fails after {@code
 * unhealthy-threshold} failed checks in a row, and passes again after {@code healthy-threshold} passed checks
 * in a row.
 *
 * <p><b>Checks and calls.</b> An instance gets calls if neither its calls nor its check keep it out:
 *
 * <ul>
 *   <li>An instance that fails its check is taken out, even while its calls succeed: so an instance announces
 *       that it is about to stop. Its calls under way go on. It gets no probes, since only a passed check
 *       brings it back.
 *   <li>A passed check does not bring back an instance that its calls have ejected: a health path that
 *       answers shows little about the calls. A probe brings it back, as without checks.
 *   <li>A check without an answer is no evidence if the instance has answered a call meanwhile: it is busy,
 *       and not down.
 * </ul>
 *
 * <p><b>Agents.</b> The agent of an instance ({@code capacity-signal.agent}) may keep it out, too, without a
 * threshold. Neither a passed check nor the agent alone brings an instance back that the other one keeps out.
 *
 * <p><b>Ignored.</b> If every instance that calls could go to fails its check, the checks are ignored: then
 * more probably the health path is broken, or the gateway's network. Instances that a check had taken out
 * return as soon as a probe is answered well. The checks count again when one of the instances in use passes;
 * each of the others must then fail its threshold anew, since they are usually about to pass, too. So a check
 * never takes out the last instance, and the check of a backend with one instance is only shown.
 */
// Concurrency: confined to one event loop, except `release`. The healths change on other threads: an instance
// that opens between the decision and its effect may leave no instance in; HealthGroup then releases those
// that their checks keep out. Each result applies all verdicts again, so a state that another thread has
// replaced (a reload's, an operator's) is corrected by the next check.
public final class HealthChecks {

    /** The result of an instance's checks. */
    public enum Verdict {
        /** Too few checks. */
        UNKNOWN,
        PASSING,
        FAILING;

        /** The word in the endpoint. */
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * The state of an instance's check, for display.
     *
     * @param isIgnored whether a failing check has no effect, since no instance in use passes
     * @param failures checks that have failed in a row
     * @param lastFailure the last failure since the verdict began; null: none
     * @param agent the word by which the instance's agent keeps it out; null: it does not
     */
    public record Status(
            Verdict verdict,
            boolean isIgnored,
            int failures,
            @Nullable String lastFailure,
            @Nullable String agent) {}

    private static final Logger log = LoggerFactory.getLogger(HealthChecks.class);

    /** The check of one instance. */
    private static final class Check {
        private final Health health;
        private Verdict verdict = Verdict.UNKNOWN;
        private int passes;
        private int failures;
        private boolean isSilent;
        private @Nullable String lastFailure;
        private @Nullable String agentWord;

        Check(Health health) {
            this.health = health;
        }

        void takeOver(Status before) {
            verdict = before.verdict;
            failures = before.failures;
            lastFailure = before.lastFailure;
        }

        boolean fails() {
            return verdict == Verdict.FAILING || agentWord != null;
        }

        @Nullable
        String why() {
            return agentWord == null ? lastFailure : "its agent says " + agentWord;
        }
    }

    private final String backend;
    /** Null: only agents judge. */
    private final @Nullable HealthCheckProperties properties;

    private final List<Check> checks;
    private boolean isIgnored;

    /**
     * Checks without a verdict.
     *
     * @param backend the backend's name
     * @param instances the healths of its instances
     * @param properties the health check; null: there is none, and the agents alone judge
     */
    public HealthChecks(String backend, List<Health> instances, @Nullable HealthCheckProperties properties) {
        this.backend = backend;
        this.properties = properties;
        this.checks = instances.stream().map(Check::new).toList();
    }

    /**
     * Takes over the verdicts of the previous configuration's checks about the same instances.
     *
     * @param agentWords the word by which the agent of the instance with this index keeps it out; null: it
     *     does not
     */
    public void takeOver(IntFunction<@Nullable String> agentWords) {
        for (int i = 0; i < checks.size(); i++) {
            Check check = checks.get(i);
            Status before = check.health.check();
            check.agentWord = agentWords.apply(i);
            if (before != null) {
                isIgnored |= before.isIgnored;
                if (properties != null) {
                    check.takeOver(before);
                }
            }
        }
    }

    /**
     * The instance's agent has said a line, or none.
     *
     * @param outWord the word by which it keeps the instance out; null: it does not
     */
    public void agentSays(int index, @Nullable String outWord, long now) {
        checks.get(index).agentWord = outWord;
        apply(now);
    }

    /** The instance has another weight. */
    public void weightChanged(int index) {
        checks.get(index).health.verdict().weightChanged();
    }

    /** The instance has passed a check. */
    public void passed(int index, long now) {
        Check check = checks.get(index);
        check.failures = 0;
        check.passes++;
        if (!check.fails() || check.passes >= checked().healthyThreshold()) {
            check.verdict = Verdict.PASSING;
            check.lastFailure = null;
        }
        apply(now);
    }

    /**
     * The instance has failed a check.
     *
     * @param why the failure, such as {@code answered 503}
     */
    public void failed(int index, String why, long now) {
        failed(index, why, false, now);
    }

    /**
     * A check has got no answer in time.
     *
     * @param sentAt the moment at which the check was sent
     */
    public void unanswered(int index, String why, long sentAt, long now) {
        Generation calls = checks.get(index).health.generation();
        if (calls == null || !calls.hasAnsweredSince(sentAt)) {
            failed(index, why, true, now);
        }
    }

    private void failed(int index, String why, boolean isSilent, long now) {
        Check check = checks.get(index);
        check.passes = 0;
        check.failures++;
        check.isSilent = isSilent;
        check.lastFailure = why;
        if (check.failures >= checked().unhealthyThreshold()) {
            check.verdict = Verdict.FAILING;
        }
        apply(now);
    }

    private HealthCheckProperties checked() {
        return Objects.requireNonNull(properties);
    }

    private void apply(long now) {
        boolean isAnyGood = checks.stream().anyMatch(check -> !check.fails() && check.health.isIn());
        Check failing = checks.stream().filter(Check::fails).findFirst().orElse(null);
        if (failing != null && !isAnyGood && !isIgnored) {
            isIgnored = true;
            log.warn(
                    "Health checks of backend {} are ignored: they fail at every instance that calls could go to ({})",
                    backend,
                    failing.why());
        } else if (isIgnored && (failing == null || isAnyGood)) {
            isIgnored = false;
            log.warn("Health checks of backend {} count again", backend);
            checks.stream().filter(check -> check.verdict == Verdict.FAILING).forEach(check -> {
                check.verdict = Verdict.UNKNOWN;
                check.failures = 0;
            });
        }
        checks.forEach(check -> apply(check, now));
    }

    private void apply(Check check, long now) {
        Health health = check.health;
        boolean isIgnoredHere = isIgnored && check.fails();
        health.verdict()
                .status(
                        properties == null && check.agentWord == null
                                ? null
                                : new Status(
                                        check.verdict,
                                        isIgnoredHere,
                                        check.failures,
                                        check.lastFailure,
                                        check.agentWord));
        if (check.fails() && !isIgnored) {
            if (!health.isHeldByCheck()) {
                health.verdict().failed(cause(check), check.isSilent && check.verdict == Verdict.FAILING, now);
            }
        } else if (!check.fails() && (check.verdict == Verdict.PASSING || properties == null)) {
            health.verdict().passed(now);
        } else {
            health.verdict().ignored(now);
        }
    }

    private String cause(Check check) {
        return check.verdict == Verdict.FAILING
                ? "its health check fails: %s %s, %d times in a row"
                        .formatted(checked().request(), check.lastFailure, check.failures)
                : String.valueOf(check.why());
    }

    /** Ends the effect of all checks for good. */
    public void release(long now) {
        for (Check check : checks) {
            check.health.verdict().status(null);
            check.health.verdict().ignored(now);
        }
    }
}
