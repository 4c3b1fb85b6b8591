package io.weir.engine;

import io.weir.deadline.Deadline;
import io.weir.health.BackendFailure;
import io.weir.health.Generation;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.LimitInForce;
import io.weir.outcome.Reason;
import io.weir.overload.LoopPauses;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The evidence that one attempt gives to the backend's {@link Health}: whether the attempt waits for too
 * long, and its outcome. Only the first outcome counts.
 *
 * <p>All times are the backend's own: the time for which the caller sent its request or read the answer is
 * excluded. From the time of a wait, pauses of the gateway itself are excluded, too.
 */
final class HealthEvidence {

    private static final Logger log = LoggerFactory.getLogger(HealthEvidence.class);
    private static final long NEVER = ExchangePhase.NEVER;
    /** A call during which the gateway paused for longer may show no latency of the backend. */
    private static final long LONGEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** A time-out may be no evidence if the gateway paused for this part of the wait: one in 4. */
    private static final int LONGEST_PAUSE_ONE_IN = 4;

    private final Health health;
    /** The instance whose load the call is part of; null: its backend has one instance. */
    private final @Nullable Instance balanced;

    private final @Nullable Generation generation;
    private final @Nullable Probe probe;
    private final boolean isProbeRefusable;
    private final LoopPauses pauses;
    private final long pausedBeforeNanos;
    private final long sentAt;
    private final long stallNanos;
    private final long abandonedNanos;
    private final LimitInForce limit;
    private final ExchangeRecord record;
    /** The breaker of the call's route; null: the backend has one route, or the call is no evidence. */
    private @Nullable RouteBreaker routeBreaker;

    private boolean isReported;
    private boolean isAnswered;
    private boolean isOverdue;
    /** The time in the backend from which on the call must be judged, for the first time or again. */
    private long dueAfterNanos;
    /** Before `sentAt`: the call was not judged yet. */
    private long judgedSince;

    private HealthEvidence(
            Health health,
            @Nullable Generation generation,
            @Nullable Probe probe,
            boolean isProbeRefusable,
            @Nullable Instance balanced,
            ExchangeContext exchange,
            long now) {
        this.health = health;
        this.balanced = balanced;
        this.generation = generation;
        this.probe = probe;
        this.isProbeRefusable = isProbeRefusable;
        this.sentAt = now;
        this.pauses = exchange.pauses();
        this.pausedBeforeNanos = pauses.nanos(now);
        this.record = exchange.record();
        this.limit = record.backend().limit();
        Route route = record.route();
        long usualNanos = record.usualNanos(now);
        long recoveryNanos = generation == null ? 0 : Math.max(generation.recoveryNanos(), record.routeRecoveryNanos());
        this.stallNanos = health.settings().stallNanos(route.deadlineNanos(), usualNanos, recoveryNanos);
        this.abandonedNanos = health.settings().abandonedNanos(usualNanos, recoveryNanos);
        this.dueAfterNanos = stallNanos;
        this.judgedSince = sentAt - 1;
    }

    /**
     * The evidence of a call. The usual time of its route decides when the call waits for too long.
     *
     * @param balanced the instance, where the backend has several; else null
     */
    static HealthEvidence ofCall(
            Health health, Generation generation, @Nullable Instance balanced, ExchangeContext exchange, long now) {
        return new HealthEvidence(health, generation, null, false, balanced, exchange, now);
    }

    /** The evidence of a probe. If it takes too long, its caller is refused. */
    static HealthEvidence ofProbe(Health health, Probe probe, ExchangeContext exchange, long now) {
        return new HealthEvidence(health, null, probe, true, null, exchange, now);
    }

    /**
     * The evidence of a call that an open breaker would have refused.
     *
     * @param probe the probe as which the call also serves; null: the call is no evidence
     */
    static HealthEvidence ofUnenforced(Health health, @Nullable Probe probe, ExchangeContext exchange, long now) {
        return new HealthEvidence(health, null, probe, false, null, exchange, now);
    }

    /** The results of the call are evidence of its route, too. */
    void countFor(@Nullable RouteBreaker breaker) {
        routeBreaker = generation == null ? null : breaker;
    }

    /** The final head of the answer has arrived. */
    void answered(long now) {
        if (!isAnswered) {
            isAnswered = true;
            if (routeBreaker != null) {
                routeBreaker.answered(sentAt, now);
            }
            if (!record.fellBack()) {
                record.route().overdue().answered(now);
            }
            health.answered(generation, now);
            if (generation != null) {
                generation.answeredCallSentAt(sentAt, now);
                limit.pace().answered(now - sentAt, now);
            }
            if (balanced != null) {
                balanced.answered(now);
            }
            endOverdue();
        }
    }

    /** Whether the final head of the answer has arrived. */
    boolean isAnswered() {
        return isAnswered;
    }

    boolean isProbe() {
        return probe != null;
    }

    /** The backend answered as expected. */
    void succeeded(long backendNanos, long now) {
        if (!begins()) {
            return;
        }
        if (balanced != null) {
            balanced.served(waitedNanos(backendNanos, now), now);
        }
        int caller = recordOrigin(false, now);
        if (routeBreaker != null) {
            routeBreaker.succeeded(backendNanos, caller, now);
        }
        if (probe == null) {
            health.succeeded(generation, backendNanos, now);
        } else {
            probe.answered(now);
        }
    }

    /** The answer is good: an instance that takes calls is not left alone. */
    void answeredWell() {
        health.pushback().answeredWell(sentAt);
        if (routeBreaker != null) {
            routeBreaker.pushback().answeredWell(sentAt);
        }
    }

    /**
     * The answer asks the gateway to stay away.
     *
     * @param mayBeCallers whether the answer may concern the caller alone
     */
    void pushedBack(long nanos, boolean mayBeCallers, long now) {
        if (probe != null) {
            probe.pushedBack(nanos, now);
        } else if (mayBeCallers) {
            int caller = CallerHash.of(record);
            health.pushback().askedOfCaller(caller, nanos, now);
            if (routeBreaker != null) {
                routeBreaker.pushback().askedOfCaller(caller, nanos, now);
            }
        } else {
            health.pushback().asked(nanos, now);
            if (routeBreaker != null) {
                routeBreaker.pushback().asked(nanos, now);
            }
        }
    }

    /** The backend failed. */
    void failed(long backendNanos, BackendFailure failure, long now) {
        if (!begins()) {
            return;
        }
        if (balanced != null) {
            balanced.failed(waitedNanos(backendNanos, now), now);
        }
        int caller = recordOrigin(true, now);
        if (routeBreaker != null) {
            // First: a route that fails alone opens alone.
            routeBreaker.failed(backendNanos, failure, caller, now);
        }
        if (probe == null) {
            health.failed(generation, backendNanos, failure, now);
        } else {
            probe.failed();
        }
    }

    /**
     * The backend answered that it is overloaded: a failure, unless a lower limit still relieves it.
     *
     * @param sign {@link Evidence#SHED} or {@link Evidence#UNAVAILABLE}
     */
    void refused(long backendNanos, BackendFailure failure, Evidence sign, long now) {
        if (limit.absorbs(sign, backendNanos)) {
            overloaded(backendNanos, failure, now);
        } else {
            failed(backendNanos, failure, now);
        }
    }

    /** Records the route and the caller of an outcome. Returns a hash of the caller. */
    private int recordOrigin(boolean hasFailed, long now) {
        if (generation == null) {
            return 0;
        }
        int caller = CallerHash.of(record);
        RouteBreaker route = routeBreaker;
        Health backend = record.backend().health();
        backend.role().routes().record(route == null ? null : route.health(), caller, hasFailed, now);
        return caller;
    }

    /** Whether the gateway itself has paused since the attempt started. */
    boolean sawPause(long now) {
        return pausedNanos(now) >= LONGEST_PAUSE_NANOS;
    }

    /**
     * Whether a time-out shows nothing, because the gateway itself has paused for much of the wait, and what
     * is left of it is not far longer than usual. A gateway whose processor is throttled pauses in each wait,
     * and must still notice a backend that hangs.
     */
    boolean isDisturbed(long backendNanos, long now) {
        return sawPause(now)
                && pausedNanos(now) >= backendNanos / LONGEST_PAUSE_ONE_IN
                && waitedNanos(backendNanos, now) < abandonedNanos;
    }

    /**
     * A time-out has expired: a failure, unless the gateway's own pauses have disturbed it, or the backend is
     * overloaded and a lower limit still relieves it.
     */
    void timedOut(long backendNanos, BackendFailure failure, long now) {
        boolean isLate = failure == BackendFailures.of(Reason.DEADLINE_EXCEEDED);
        if (isDisturbed(backendNanos, now)) {
            ignored();
        } else if (isLate && limit.absorbs(Evidence.TIMED_OUT, backendNanos)) {
            overloaded(backendNanos, failure, now);
        } else {
            failed(backendNanos, failure, now);
        }
    }

    /** A sign of overload: no failure of the backend, but a single instance that shows it has failed. */
    private void overloaded(long backendNanos, BackendFailure failure, long now) {
        if (!isReported) {
            int caller = recordOrigin(true, now);
            if (routeBreaker != null && routeBreaker.failsAlone(now)) {
                // A lower limit does not help a route whose siblings are answered well.
                routeBreaker.failed(backendNanos, failure, caller, now);
            }
        }
        if (balanced != null && !isReported) {
            balanced.failed(waitedNanos(backendNanos, now), now);
            health.role().overloaded(generation, failure, now);
        }
        ignored();
    }

    /** The attempt is no evidence. */
    void ignored() {
        if (begins() && probe != null) {
            probe.failed();
        }
    }

    /** The caller ended the attempt: evidence of a stall if it had waited for long, else none. */
    void endedByCaller(long backendNanos, long now) {
        if (balanced != null && !isAnswered && !isReported) {
            balanced.endedWithoutAnswer(waitedNanos(backendNanos, now), now);
        }
        long waitedNanos = waitedNanos(backendNanos, now);
        if (waitedNanos >= abandonedNanos) {
            stall(waitedNanos, now);
        }
        ignored();
    }

    /**
     * Whether a missed deadline is a failure of the backend: the backend had the call for at least half of
     * the route's deadline, and the caller had not shortened the deadline.
     */
    static boolean isBackendAtFault(long backendNanos, Deadline missed, long routeDeadlineNanos) {
        return !missed.shortenedByCaller() && backendNanos >= routeDeadlineNanos / 2;
    }

    /** The deadline has passed: a failure and a stall, if the backend had the call for long enough. */
    void missedDeadline(long backendNanos, Deadline missed, long routeDeadlineNanos, long now) {
        if (missed.shortenedByCaller()) {
            endedByCaller(backendNanos, now);
        } else if (isBackendAtFault(backendNanos, missed, routeDeadlineNanos)) {
            if (!isDisturbed(backendNanos, now)) {
                stall(waitedNanos(backendNanos, now), now);
            }
            timedOut(backendNanos, BackendFailures.of(Reason.DEADLINE_EXCEEDED), now);
        }
    }

    /**
     * Counts a call that has waited for the stall time, while it still waits. A call that is judged stays due
     * for another judgement: an answer to another call only postpones its evidence.
     *
     * @return whether the call has become overdue
     */
    boolean countIfStalled(long backendNanos, long now) {
        long waitedNanos = waitedNanos(backendNanos, now);
        if (nanosUntilJudged(waitedNanos) > 0) {
            return false;
        }
        boolean becomesOverdue = !isOverdue;
        stall(waitedNanos, now);
        if (becomesOverdue) {
            isOverdue = true;
            health.overdueBegan();
        }
        return becomesOverdue;
    }

    /** Whether the call has waited for the stall time, and is overtaken by half of it. */
    boolean isLeftBehind() {
        return isOverdue && isOvertaken(stallNanos);
    }

    /**
     * Whether the backend has answered a call that it got at least half of this time later. In a queue this
     * call would have been answered first: it hangs, or it polls.
     */
    boolean isOvertaken(long waitedNanos) {
        return generation != null && generation.hasAnsweredCallSentAfter(sentAt + waitedNanos / 2);
    }

    private void stall(long waitedNanos, long now) {
        Generation sent = generation;
        if (isReported || isAnswered || sent == null) {
            return;
        }
        if (!isOverdue) {
            stallRoute(now);
        }
        long silentSince = sentAt + Math.max(0, waitedNanos - stallNanos);
        if (routeBreaker != null) {
            // First: a route that hangs alone opens alone.
            routeBreaker.stalled(sentAt, silentSince, now);
        }
        health.stalled(sent, sentAt, silentSince, judgedSince, now);
        judgedSince = silentSince;
        long answeredAt = sent.lastAnswerAt();
        dueAfterNanos = stallNanos + (answeredAt - silentSince > 0 ? answeredAt - sentAt : waitedNanos);
    }

    /**
     * If the backend has answered other calls meanwhile, those of other routes, the call's route may hang.
     */
    private void stallRoute(long now) {
        Generation sent = generation;
        if (sent == null || record.fellBack() || !sent.hasAnsweredSince(sentAt)) {
            return;
        }
        Route route = record.route();
        int callsToHang = Math.min(health.settings().breaker().stallCalls(), limit.inForce() / 2);
        if (route.overdue().stalled(sentAt, callsToHang, 2 * route.deadlineNanos(), now)) {
            log.warn(
                    "{}: route {} hangs, no answer to {} calls for {} ms while other routes are answered: it holds at"
                            + " most half of the limit",
                    record.backend().name(),
                    route.id(),
                    Math.max(2, callsToHang),
                    TimeUnit.NANOSECONDS.toMillis(now - sentAt));
        }
    }

    /** Whether the attempt is a probe whose caller has waited for as long as a probe may take. */
    boolean isProbeGivenUp(long backendNanos, long now) {
        return nanosUntilGivenUp(waitedNanos(backendNanos, now)) <= 0;
    }

    /** Time until {@link #countIfStalled} or {@link #isProbeGivenUp} must be called. */
    long dueNanos(long backendNanos, long now) {
        long waited = waitedNanos(backendNanos, now);
        return Math.min(nanosUntilJudged(waited), nanosUntilGivenUp(waited));
    }

    private long nanosUntilJudged(long waitedNanos) {
        return isReported || isAnswered || generation == null ? NEVER : dueAfterNanos - waitedNanos;
    }

    private long nanosUntilGivenUp(long waitedNanos) {
        return probe == null || !isProbeRefusable || isAnswered ? NEVER : probe.patienceNanos() - waitedNanos;
    }

    /** The backend's time without pauses of the gateway. */
    long waitedNanos(long backendNanos, long now) {
        return Math.max(0, backendNanos - pausedNanos(now));
    }

    /** The gateway's own pauses since the attempt started. */
    private long pausedNanos(long now) {
        return pauses.nanos(now) - pausedBeforeNanos;
    }

    /** Whether this is the first outcome. */
    private boolean begins() {
        if (isReported) {
            return false;
        }
        isReported = true;
        endOverdue();
        return true;
    }

    private void endOverdue() {
        if (isOverdue) {
            isOverdue = false;
            health.overdueEnded();
        }
    }
}
