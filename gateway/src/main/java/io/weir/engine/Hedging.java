package io.weir.engine;

import io.weir.engine.Decision.Await;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Step;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgePolicy;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.retry.RetryPolicy;
import org.jspecify.annotations.Nullable;

/**
 * The hedge of an exchange: a second attempt at another instance, beside the first one whose answer is late.
 * While both run, it is the phase of the exchange and owns both.
 *
 * <pre>
 *  AWAITED ── due, and all that it needs is free ──► BOTH ── one answers well, or fails ──► OVER
 *     └────── the first attempt ends, or the hedge is refused ──────────────────────────────►┘
 * </pre>
 *
 * <p>When one attempt has answered well, or has failed, the other one is all that is left: it is the phase of
 * the exchange again, as if there had been no hedge. While both run, neither is retried: its failure leaves
 * the other one.
 *
 * <p>Confined to the exchange's event loop.
 */
final class Hedging implements ExchangePhase {

    private enum Stage {
        AWAITED,
        BOTH,
        OVER
    }

    private final ExchangeContext exchange;
    private final HedgePolicy policy;
    private final long beganAt;
    private final long dueAt;
    private Stage stage = Stage.AWAITED;
    private @Nullable HedgeResult result;

    /** Both are null unless both attempts run. */
    private @Nullable Attempt first;

    private @Nullable Attempt second;
    /** The second attempt, if the first one has failed; null: it has not. */
    private @Nullable Attempt leftSecond;
    /** The trace shows the steps of the second attempt. */
    private boolean tracesSecond;

    private Hedging(ExchangeContext exchange, HedgePolicy policy, long now) {
        this.exchange = exchange;
        this.policy = policy;
        this.beganAt = now;
        long after = policy.afterNanos();
        this.dueAt = now + after;
        if (after == HedgePolicy.UNKNOWN) {
            stage = Stage.OVER;
        }
    }

    /**
     * The hedge of an exchange whose first attempt begins; null: its route has none, or the request must not
     * be sent twice.
     */
    static @Nullable Hedging of(ExchangeContext exchange, HealthEvidence evidence, long now) {
        ExchangeRecord record = exchange.record();
        HedgePolicy policy = record.route().hedge();
        if (policy == null
                || record.fellBack()
                || exchange.isStream()
                || evidence.isProbe()
                || !RetryPolicy.isRepeatable(
                        record.caller().method(), record.caller().hasBody())
                || isBoundToInstance(record)) {
            return null;
        }
        record.caller().received().prepareHeads();
        return new Hedging(exchange, policy, now);
    }

    /** Whether the caller's session is at one instance: another one may not know it. */
    private static boolean isBoundToInstance(ExchangeRecord record) {
        return record.backend().instances().ofSession(record.caller().received().headers(), record.tried()) != null;
    }

    /** What has come of the hedge; null: the call had its answer in time, or ended before. */
    @Nullable
    HedgeResult result() {
        return result;
    }

    /** Whether both attempts run. */
    boolean areBothRunning() {
        return stage == Stage.BOTH;
    }

    // ---------------------------------------------------------------- the start

    /** The time until the hedge is due, if it has not started. A retry has none. */
    long startDueNanos(long now) {
        return stage == Stage.AWAITED && exchange.record().attempts() == 1 ? dueAt - now : NEVER;
    }

    /** Starts the hedge of an attempt that waits for its answer, if it is due. Tries once. */
    void startIfDue(Attempt waiting, long now) {
        if (startDueNanos(now) > 0) {
            return;
        }
        stage = Stage.OVER;
        HedgeResult refused = HedgeCheck.refusal(waiting, policy, now);
        if (refused == null) {
            refused = start(waiting, now);
        }
        if (refused != null) {
            conclude(refused);
        }
    }

    private @Nullable HedgeResult start(Attempt waiting, long now) {
        Backend backend = waiting.backend;
        int caller = CallerHash.of(exchange.record());
        if (!backend.retryBudget().tryWithdraw(caller, now)) {
            return HedgeResult.BUDGET;
        }
        // As a retry: of the next lower class, and without a deposit in the budget.
        Admission admission = new Admission(exchange, backend, RetriedResult.Lost.LOST);
        boolean holdsPermits = admission.permits().tryAcquireAtOnce(now);
        HealthEvidence evidence = holdsPermits ? admission.enterBeside(waiting.instance, now) : null;
        if (evidence == null) {
            admission.release(null, now);
            backend.retryBudget().giveBack(caller);
            return holdsPermits ? HedgeResult.NO_INSTANCE : HedgeResult.NO_PERMIT;
        }
        ExchangeRecord record = exchange.record();
        record.attempts++;
        first = waiting;
        Attempt hedge = exchange.newAttempt(admission, evidence, now);
        second = hedge;
        stage = Stage.BOTH;
        conclude(HedgeResult.STARTED);
        exchange.apply(new Await(this));
        trace(hedge);
        begin(hedge);
        return null;
    }

    private void begin(Attempt attempt) {
        Decision begun = attempt.begin();
        if (begun != Step.WAIT) {
            leave(attempt, begun);
        } else if (stage == Stage.BOTH) {
            exchange.rearm();
        }
    }

    private void conclude(HedgeResult concluded) {
        result = concluded;
        exchange.record().backend().observer().hedged(concluded);
    }

    // ---------------------------------------------------------------- the end

    /**
     * The head of an answer has arrived. A good one ends the other attempt.
     *
     * @return whether the exchange waits for the other attempt, because this answer would be retried
     */
    boolean headReceived(Attempt answered, int status, long now) {
        RetryPolicy retry = exchange.record().route().retry();
        boolean isGood = retry == null || !retry.retries(status);
        if (isGood && (stage == Stage.BOTH || exchange.record().attempts() == 1)) {
            policy.answered(now - beganAt, now);
        }
        if (isGood && (answered == second || answered == leftSecond)) {
            conclude(HedgeResult.WON);
        }
        if (stage != Stage.BOTH) {
            stage = Stage.OVER;
            return false;
        }
        trace(answered);
        if (!isGood) {
            return true;
        }
        Attempt other = other(answered);
        // As if its caller had left.
        other.endedByCaller(now);
        end(other, null, now);
        return false;
    }

    /**
     * An attempt has failed.
     *
     * @return the decision of the attempt if it is the only one; else the exchange waits for the other one
     */
    Decision failed(Attempt failed, Decision decision) {
        if (stage == Stage.BOTH) {
            if (decision != Step.WAIT) {
                leave(failed, decision);
            }
            return Step.WAIT;
        }
        if (decision != Step.WAIT) {
            stage = Stage.OVER;
        }
        return decision;
    }

    /** Ends an attempt that has failed; the exchange waits for the other one. */
    void leave(Attempt failed, Decision decision) {
        leftSecond = failed == first ? second : null;
        ExchangeRecord record = exchange.record();
        record.instance = failed.instance;
        record.instanceFailed();
        end(failed, decision instanceof Refuse refuse ? refuse.reason() : null, exchange.now());
    }

    /** Ends one attempt; the exchange goes on with the other one. */
    private void end(Attempt ended, @Nullable Reason why, long now) {
        Attempt other = other(ended);
        stage = Stage.OVER;
        release(ended, why, now);
        exchange.record().instance = other.instance;
        trace(other);
        first = null;
        second = null;
        exchange.apply(new Await(other));
    }

    private void release(Attempt ended, @Nullable Reason why, long now) {
        Attempt hedge = second();
        ExchangeRecord record = exchange.record();
        long beforeNanos = record.backendNanos;
        trace(ended);
        ended.release(why, now);
        // The time for which both ran counts once.
        record.backendNanos = beforeNanos + (ended == hedge ? 0 : hedge.startedAt() - ended.startedAt());
    }

    private Attempt other(Attempt one) {
        Attempt other = one == first ? second : first;
        if (other == null) {
            throw new IllegalStateException("stage: " + stage + " (expected: both attempts run)");
        }
        return other;
    }

    /** The next steps that the trace receives are those of this attempt. */
    private void trace(Attempt attempt) {
        boolean isSecond = attempt == second;
        if (isSecond != tracesSecond) {
            tracesSecond = isSecond;
            ExchangeTrace trace = exchange.record().trace();
            if (trace != null) {
                trace.switchAttempt();
            }
        }
    }

    // ---------------------------------------------------------------- the phase

    private Attempt first() {
        return other(second());
    }

    private Attempt second() {
        Attempt hedge = second;
        if (hedge == null) {
            throw new IllegalStateException("stage: " + stage + " (expected: both attempts run)");
        }
        return hedge;
    }

    /** The class of the second attempt. The connection's event loop reads it while it writes a head. */
    Priority priority() {
        Attempt hedge = second;
        return hedge == null ? exchange.priority() : hedge.admission().priority();
    }

    @Override
    public long dueNanos(long now) {
        return Math.min(first().dueNanos(now), second().dueNanos(now));
    }

    @Override
    public Decision check(long now) {
        Attempt hedge = second();
        check(first(), now);
        if (stage == Stage.BOTH) {
            check(hedge, now);
        }
        return Step.WAIT;
    }

    private void check(Attempt one, long now) {
        Decision decision = one.check(now);
        if (decision == Step.SEND && one instanceof InjectedAttempt waited) {
            Attempt sent = waited.send(now);
            if (one == first) {
                first = sent;
            } else {
                second = sent;
            }
            begin(sent);
        } else if (decision != Step.WAIT) {
            leave(one, decision);
        }
    }

    @Override
    public Decision expire(long now) {
        second().deadlinePassed(now);
        return first().expire(now);
    }

    @Override
    public void endedByCaller(long now) {
        first().endedByCaller(now);
        second().endedByCaller(now);
    }

    @Override
    public Instance usedInstance() {
        return first().instance;
    }

    @Override
    public Instance secondInstance() {
        return second().instance;
    }

    @Override
    public Decision instanceGone(Pool left, long now) {
        Attempt hedge = second();
        Attempt gone = hedge.instance.pool() == left ? hedge : first();
        if (gone.instance.pool() == left) {
            leave(gone, gone.cutShort(Reason.CONNECTION_LOST, null));
        }
        return Step.WAIT;
    }

    @Override
    public void routeStalled(RouteHealth stalled, long now) {
        first().routeStalled(stalled, now);
        second().routeStalled(stalled, now);
    }

    @Override
    public long backendNanos(long now) {
        return first().backendNanos(now);
    }

    @Override
    public void release(@Nullable Reason why, long now) {
        Attempt hedge = second();
        Attempt earlier = first();
        stage = Stage.OVER;
        release(hedge, why, now);
        // The first attempt began before, and ends now: its time is that of both.
        trace(earlier);
        earlier.release(why, now);
        first = null;
        second = null;
    }
}
