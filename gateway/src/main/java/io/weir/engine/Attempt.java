package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.body.BodyAggregator;
import io.weir.body.Relay;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.BreakOff;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Replace;
import io.weir.engine.Decision.Retry;
import io.weir.engine.Decision.Step;
import io.weir.health.BackendFailure;
import io.weir.health.RouteHealth;
import io.weir.instance.Failures;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.Limit.Evidence;
import io.weir.outcome.Reason;
import io.weir.outcome.ThrottledLog;
import java.net.ProtocolException;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * One attempt to get an answer from a backend. Each event of the backend is reported as
 * {@link HealthEvidence} first; then the attempt passes the answer on to the caller, or returns a {@link
 * Decision}: another attempt ({@link RetryDecider}), a refusal, or a broken answer. {@link AttemptTimeout}
 * computes its time-outs.
 *
 * <p>The attempt owns the admission, and ends in one of two ways: {@link #endAnswered}, or {@link #release},
 * which cancels the transfer in any state. After a cancellation no event of the backend follows.
 *
 * <p>The subclasses send the request. Concurrency: all methods are called on the exchange's event loop unless
 * stated otherwise.
 */
abstract class Attempt implements ExchangePhase, Transfer {

    private static final int LAST_STATUS = 999;
    private static final ThrottledLog log = ThrottledLog.of(Attempt.class);

    final ExchangeContext exchange;
    final Backend backend;
    /** The instance that the request goes to. */
    final Instance instance;

    private final Admission admission;
    private final Permits permits;
    private final AttemptEvidence outcomes;
    private final ConnectTime connectTime;
    private final long startedAt;
    private RequestHead request;
    private HttpHeaders head = EmptyHttpHeaders.INSTANCE;

    /** Drains the answer of an attempt that is retried; null: the answer is for the caller. */
    private @Nullable Backoff drainedBy;

    Attempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        this.exchange = exchange;
        this.backend = exchange.record().backend();
        this.instance = admission.entry().instance();
        this.admission = admission;
        this.permits = admission.permits();
        this.outcomes = new AttemptEvidence(exchange, evidence, permits);
        this.connectTime = new ConnectTime(exchange, now);
        this.startedAt = now;
        this.request = new RequestHead(exchange, instance, now);
    }

    // ---------------------------------------------------------------- the request

    /** Starts the attempt. Fails at once if a filter of the route cannot build the request. */
    Decision begin() {
        try {
            start();
            return Step.WAIT;
        } catch (RuntimeException e) {
            request.failed();
            return fail(e);
        }
    }

    /** The path and query of the request. Reports the attempt to the trace, once. */
    final String target() {
        return request.target();
    }

    /** Writes the request's head. On the connection's event loop. */
    final void writeHead(HttpHeaders toBackend) {
        request.write(toBackend);
    }

    // ---------------------------------------------------------------- events of the backend

    /** The answer's head has arrived. */
    final void headReceived(int status, HttpHeaders headers) {
        if (status < HttpResponseStatus.OK.code() || status > LAST_STATUS) {
            // For example a 101 without a request for it: it would change the protocol of the caller's
            // connection.
            failed(new ProtocolException("status " + status + " (expected: a final one of three digits)"));
            return;
        }
        long now = exchange.now();
        instance.readCapacity(headers, now);
        Hedging hedging = exchange.record().hedging;
        boolean waitsForOther = hedging != null && hedging.headReceived(this, status, now);
        BackendFailure failure = outcomes.answered(status, headers, now);
        if (waitsForOther && hedging != null) {
            report(failure, now);
            outcomes.markAnswered(now);
            hedging.leave(this, Step.WAIT);
            return;
        }
        Retry retry = RetryDecider.afterStatus(this, status, headers, now);
        head = headers;
        if (retry != null) {
            report(failure, now);
            exchange.apply(retry);
            return;
        }
        if (failure != null || exchange.hasOpenEnd()) {
            report(failure, now);
        }
        Answer lastGood = LastGoodAnswers.insteadOf(status, exchange);
        if (lastGood != null) {
            exchange.apply(new Replace(status, lastGood));
            return;
        }
        int bytes = BodyAggregator.bytesToAggregate(
                exchange.record().caller().method(), exchange.hasOpenEnd(), status, headers);
        if (bytes != BodyAggregator.NOT_AGGREGATED) {
            exchange.record().status = status;
            aggregate(bytes, false);
        } else {
            exchange.answerBegins(this, status, now);
            // An answer with the cookie would not be kept as a last good one.
            Publisher<ByteBuf> body = relay();
            exchange.record().caller().begin(status, withSession(headers), body);
        }
    }

    /** Reads the rest of an answer that is retried. */
    final void drain(Backoff backoff, int maxBytes) {
        drainedBy = backoff;
        aggregate(maxBytes, true);
    }

    /** The aggregated answer is complete. */
    public final void aggregated(ByteBuf body, HttpHeaders trailers) {
        if (drainedBy != null) {
            instance.readCapacity(trailers, exchange.now());
            drainedBy.drained(body, trailers);
            return;
        }
        complete(trailers);
        exchange.record().caller().answer(exchange.record().status(), withSession(head), body);
    }

    /** Adds the cookie that keeps the caller with the instance, where it is configured. */
    final HttpHeaders withSession(HttpHeaders answer) {
        if (backend.instances().hasSessionCookie()) {
            ReceivedRequest received = exchange.record().caller().received();
            backend.instances()
                    .bindSession(
                            instance,
                            received.headers(),
                            answer,
                            received.scheme().equals("https"));
        }
        return answer;
    }

    /** The answer's last byte has arrived. The caller may not have all of it yet. */
    final void complete(HttpHeaders trailers) {
        long now = exchange.now();
        instance.readCapacity(trailers, now);
        outcomes.completed(trailers, backendOnlyNanos(now), now);
        endAnswered(now);
        if (!trailers.isEmpty()) {
            exchange.record().caller().trailers(trailers);
        }
    }

    /** The connection failed after a part of the answer went to the caller. */
    final void answerBroken(Throwable failure) {
        long now = exchange.now();
        outcomes.failed(Reason.CONNECTION_LOST, backendOnlyNanos(now), now);
        exchange.apply(new BreakOff(Reason.CONNECTION_LOST, Failures.describe(failure)));
    }

    /** The attempt failed before the caller received anything. */
    public final void failed(Throwable failure) {
        if (drainedBy != null) {
            drainedBy.drainFailed();
        } else {
            Decision decision = fail(failure);
            Hedging hedging = exchange.record().hedging;
            exchange.apply(hedging == null ? decision : hedging.failed(this, decision));
        }
    }

    /**
     * The gateway answers in place of the backend: an injected fault. The answer is judged as if the backend
     * had sent it.
     *
     * @param refuse the answer if no further attempt starts
     */
    final Decision answeredInstead(int status, Refuse refuse) {
        long now = exchange.now();
        BackendFailure failure = outcomes.answered(status, head, now);
        Retry retry = RetryDecider.afterStatus(this, status, head, now);
        report(failure, now);
        outcomes.markAnswered(now);
        return retry == null ? refuse : new Retry(retry.backoffNanos(), refuse, 0);
    }

    final Decision fail(Throwable failure) {
        Reason reason = Failures.reason(failure, isConnected());
        if (reason == Reason.CONNECT_TIMEOUT && connectTime.grantAgain(evidence(), exchange.now())) {
            return begin();
        }
        Refuse refuse = reason == Reason.BULKHEAD_FULL && instance.pool().isShortOfFiles()
                ? new Refuse(Reason.GATEWAY_OVERLOADED, "no file for a connection to the backend is free")
                : new Refuse(request.hasFailed() ? Reason.INTERNAL_ERROR : reason, Failures.describe(failure));
        if (refuse.reason() == Reason.INTERNAL_ERROR) {
            log.error(exchange.now(), "Request to backend " + backend.name() + " failed inside the gateway", failure);
            return refuse;
        }
        if (Failures.isLocal(failure)) {
            // The gateway's own lack of files or ports is no evidence, and a retry would make it worse.
            return refuse;
        }
        if (Failures.isOrderly(failure)) {
            Retry retry = RetryDecider.afterGoAway(this, refuse, exchange.now());
            return retry != null ? retry : refuse;
        }
        return fail(refuse, Failures.isUnsent(failure));
    }

    private Decision fail(Refuse refuse, boolean isUnsent) {
        long now = exchange.now();
        outcomes.failed(refuse.reason(), backendOnlyNanos(now), now);
        Retry retry = RetryDecider.afterFailure(this, refuse, isUnsent, now);
        return retry != null ? retry : refuse;
    }

    /** The request's body is too large, or the caller broke off while sending it. */
    final void uploadFailed(Throwable failure) {
        if (!exchange.isUnderWay()) {
            // The backend completed its answer before the request was complete.
            return;
        }
        if (failure instanceof Relay.TooLarge) {
            endedByCaller(exchange.now());
            exchange.cutShort(Reason.PAYLOAD_TOO_LARGE, failure.getMessage());
        } else {
            exchange.leave();
        }
    }

    // ---------------------------------------------------------------- time

    @Override
    public long dueNanos(long now) {
        long due = Math.min(AttemptTimeout.dueNanos(this, now), HeldUpCall.dueNanos(this, false, now));
        due = Math.min(due, Math.min(LeftBehind.dueNanos(this, now), StrandedCall.dueNanos(this, now)));
        Hedging hedging = exchange.record().hedging;
        return hedging == null ? due : Math.min(due, hedging.startDueNanos(now));
    }

    @Override
    public Decision check(long now) {
        AttemptTimeout timeout = AttemptTimeout.expired(this, now);
        if (timeout == null && HeldUpCall.isBelowMinimumRate(this, now)) {
            endedByCaller(now);
            return Refuse.BELOW_MINIMUM_RATE;
        }
        if (timeout == AttemptTimeout.CONNECT && connectTime.grantAgain(evidence(), now)) {
            return Step.WAIT;
        }
        if (timeout == null) {
            HeldUpCall.moveIfHeldUp(this, Evidence.NONE, now);
            HeldUpCall.look(this, now);
            long backendNanos = backendOnlyNanos(now);
            if (evidence().countIfStalled(backendNanos, now)) {
                permits.becameOverdue();
            }
            LeftBehind.moveIfSo(this, now);
            Retry elsewhere = StrandedCall.retry(this, now);
            if (elsewhere != null) {
                return elsewhere;
            }
            Hedging hedging = exchange.record().hedging;
            if (hedging != null) {
                hedging.startIfDue(this, now);
            }
            return evidence().isProbeGivenUp(backendNanos, now) ? Refuse.CIRCUIT_OPEN : Step.WAIT;
        }
        Refuse refuse = new Refuse(timeout.reason(), timeout.detail());
        if (timeout == AttemptTimeout.UPLOAD_IDLE) {
            endedByCaller(now);
            return refuse;
        }
        if (timeout == AttemptTimeout.ANSWER) {
            outcomes.markTimedOut(backendOnlyNanos(now), now);
        }
        return fail(refuse, false);
    }

    @Override
    public Reason expiryReason(long now) {
        return isWaitingForUpload() && !outcomes.isBackendAtFault(backendOnlyNanos(now))
                ? Reason.CLIENT_TOO_SLOW
                : Reason.DEADLINE_EXCEEDED;
    }

    @Override
    public Decision expire(long now) {
        if (expiryReason(now) == Reason.CLIENT_TOO_SLOW) {
            endedByCaller(now);
            return Refuse.UPLOAD_TOO_SLOW;
        }
        deadlinePassed(now);
        return Refuse.DEADLINE_EXCEEDED;
    }

    final long startedAt() {
        return startedAt;
    }

    /** Continues an attempt that has waited for an injected latency. Only now the time to connect begins. */
    final void takeOver(Attempt waited, long now) {
        request = waited.request;
        connectTime.restart(now);
    }

    /** The time to connect. */
    final ConnectTime connectTime() {
        return connectTime;
    }

    /** The time for which the gateway waited only for the backend, and not for the caller. */
    final long backendOnlyNanos(long now) {
        return Math.max(0, now - startedAt - callerNanos(now));
    }

    @Override
    public long backendNanos(long now) {
        return Math.max(0, permits.backendNanos(now) - callerNanos(now));
    }

    final AttemptEvidence outcomes() {
        return outcomes;
    }

    final HealthEvidence evidence() {
        return outcomes.health();
    }

    /** The deadline has passed while the gateway waited for the backend. */
    final void deadlinePassed(long now) {
        outcomes.deadlinePassed(backendOnlyNanos(now), now);
    }

    @Override
    public final void endedByCaller(long now) {
        evidence().endedByCaller(backendOnlyNanos(now), now);
    }

    final void report(@Nullable BackendFailure failure, long now) {
        outcomes.report(failure, backendOnlyNanos(now), now);
    }

    /** Whether a hedge runs beside the first attempt, and this is one of the two. */
    final boolean isBesideAnother() {
        Hedging hedging = exchange.record().hedging;
        return hedging != null && hedging.areBothRunning();
    }

    final Admission admission() {
        return admission;
    }

    final Permits permits() {
        return permits;
    }

    /** The head of the answer; empty before it has arrived. */
    final HttpHeaders head() {
        return head;
    }

    @Override
    public final void release(@Nullable Reason why, long now) {
        // The caller received none of the answer's bytes; do not count them.
        release(0, why, now);
    }

    @Override
    public final Instance usedInstance() {
        return instance;
    }

    /** Ends an attempt that received the last byte of its answer. */
    final void endAnswered(long now) {
        exchange.record().answerBytes = answerBytes();
        exchange.record().traceAttemptEnded(null, now);
        outcomes.markAnswered(now);
        releaseAdmission(now);
        exchange.answerComplete(now);
    }

    @Override
    public final Decision instanceOpened(Instance opened, long now) {
        Retry retry = instance.isSameAs(opened) ? RetryDecider.afterEjection(this, now) : null;
        if (retry != null) {
            return retry;
        }
        // For StrandedCall.
        exchange.rearm();
        return Step.WAIT;
    }

    @Override
    public final Decision instanceGone(Pool left, long now) {
        Retry retry = instance.pool() == left ? RetryDecider.afterEjection(this, now) : null;
        return retry == null ? ExchangePhase.super.instanceGone(left, now) : retry;
    }

    @Override
    public final void routeStalled(RouteHealth stalled, long now) {
        if (!evidence().isAnswered()) {
            permits.giveBackIfOf(stalled, now);
        }
    }

    /** Returns the permits of an attempt whose answer is complete. */
    final void releaseAdmission(long now) {
        permits.exclude(callerNanos(now));
        admission.release(null, now);
    }

    /**
     * Ends the attempt in any state and returns its permits. An attempt without an outcome is no evidence.
     *
     * @param answerBytes bytes of the answer that went to the caller
     */
    final void release(long answerBytes, @Nullable Reason why, long now) {
        exchange.record().answerBytes = answerBytes;
        permits.exclude(callerNanos(now));
        evidence().ignored();
        cancel();
        exchange.record().traceAttemptEnded(why, now);
        admission.release(why, now);
    }
}
