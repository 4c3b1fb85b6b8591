package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.deadline.CallerTimeout;
import io.weir.engine.Decision.BreakOff;
import io.weir.engine.Decision.Refuse;
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
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * One attempt to get an answer from a backend. Each event of the backend is reported as
 * {@link HealthEvidence} first; then the attempt passes the answer on to the caller, or returns a {@link
 * Decision}: another attempt ({@link RetryDecider}), a refusal, or a broken answer. {@link AttemptTimeout}
 * computes its time-outs.
 *
 * <p>The class is longer than others, and stays whole: it lists all events of a backend, and for each event
 * the order in which the breaker, the permits and the caller are served.
 *
 * <p>The subclasses send the request. All methods are called on the exchange's event loop unless stated
 * otherwise.
 */
abstract non-sealed class Attempt implements ExchangePhase {

    /** Creates the attempts of an engine's exchanges. */
    interface Factory {

        /**
         * An attempt that is not {@linkplain #start() started}.
         *
         * @param admission the permits that the attempt uses
         * @param evidence receives the outcome
         */
        Attempt create(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now);
    }

    private static final int LAST_STATUS = 999;
    private static final ThrottledLog log = ThrottledLog.of(Attempt.class);

    final ExchangeContext exchange;
    final Backend backend;
    /** The instance that the request goes to. */
    final Instance instance;

    private final Admission admission;
    private final Permits permits;
    private final HealthEvidence evidence;
    private final long startedAt;
    private HttpHeaders head = EmptyHttpHeaders.INSTANCE;
    /** The evidence of the answer about the backend's limit. */
    private Evidence answer = Evidence.ANSWERED;
    /** Written before the request is sent, and so before a connection's event loop reads it. */
    private @Nullable Consumer<HttpHeaders> traceContext;

    /** Drains the answer of an attempt that is retried; null: the answer is for the caller. */
    private @Nullable Backoff drainedBy;

    private @Nullable String target;
    private boolean isConnectGrantedAgain;
    /** The end of the second connect time-out, after a pause; without one: 0. */
    private long connectEndsAt;

    /** The gateway could not build the request's head. The backend is not at fault. */
    private volatile boolean isOwnFailure;

    Attempt(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        this.exchange = exchange;
        this.backend = exchange.record().backend();
        this.instance = admission.entry().instance();
        this.admission = admission;
        this.permits = admission.permits();
        this.evidence = evidence;
        this.startedAt = now;
    }

    /** An attempt over the network. */
    static Attempt overNetwork(ExchangeContext exchange, Admission admission, HealthEvidence evidence, long now) {
        return exchange.isWebSocket()
                ? new WebSocketAttempt(exchange, admission, evidence, now)
                : new HttpAttempt(exchange, admission, evidence, now);
    }

    /** Acquires a connection and sends the request. */
    abstract void start();

    /**
     * Aggregates the answer's body; {@link #aggregated} follows.
     *
     * @param maxBytes further bytes are dropped, or are a failure
     */
    void aggregate(int maxBytes, boolean failsIfLarger) {
        throw new IllegalStateException("no answer has begun");
    }

    /** The answer's body as it arrives; {@link #complete} follows. */
    Publisher<ByteBuf> relay() {
        throw new IllegalStateException("no answer has begun");
    }

    /**
     * Cancels the attempt in any state: no further event follows. The connection is closed unless it is
     * reusable.
     */
    abstract void cancel();

    /** Whether a connection is established, so that the backend may have received a part of the request. */
    abstract boolean isConnected();

    /**
     * Prevents the request from being sent, if nothing of it has been sent. The connection may be established
     * concurrently on its own event loop.
     *
     * @return whether the backend has received nothing of the request, and will receive nothing
     */
    abstract boolean withdraw();

    /** Time, up to now, that the caller needed to send its body and to read the answer. */
    abstract long callerNanos(long now);

    /** Whether the gateway waits for more of the request's body. */
    abstract boolean isWaitingForUpload();

    /** The last moment at which bytes moved in either direction; {@link Long#MIN_VALUE}: never. */
    abstract long lastMovedNanos();

    /** Bytes received of the answer's body. */
    abstract long answerBytes();

    /** Whether the caller holds up the answer. */
    abstract boolean isHeldUpByCaller();

    // ---------------------------------------------------------------- the request

    /** Starts the attempt. Fails at once if a filter of the route cannot build the request. */
    Decision begin() {
        try {
            start();
            return Step.WAIT;
        } catch (RuntimeException e) {
            isOwnFailure = true;
            return fail(e);
        }
    }

    /** The path and query of the request. Reports the attempt to the trace, once. */
    final String target() {
        String known = target;
        if (known == null) {
            known = readTarget();
            target = known;
        }
        return known;
    }

    private String readTarget() {
        Caller caller = exchange.record().caller();
        String read = caller.target();
        ExchangeTrace trace = exchange.record().trace();
        if (trace != null) {
            traceContext = trace.attempted(backend, instance, caller.method().name(), read, startedAt);
        }
        return read;
    }

    /** Writes the request's head. On the connection's event loop. */
    final void writeHead(HttpHeaders toBackend) {
        try {
            exchange.record().caller().writeHead(toBackend, instance.authority());
            CallerTimeout.write(toBackend, Math.max(1, exchange.timer().leftNanos(exchange.now())));
            if (traceContext != null) {
                traceContext.accept(toBackend);
            }
        } catch (RuntimeException e) {
            isOwnFailure = true;
            throw e;
        }
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
        traceAnswered(status);
        evidence.answered(now);
        answer = BackendFailures.signOfLoad(status, headers);
        BackendFailure failure = BackendFailures.ofHead(backend, status, headers);
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
        int bytes = BodyAggregator.bytesToAggregate(exchange, status, headers);
        if (bytes != BodyAggregator.NOT_AGGREGATED) {
            exchange.record().status = status;
            aggregate(bytes, false);
        } else {
            exchange.answerBegins(this, status, now);
            exchange.record().caller().begin(status, headers, relay());
        }
    }

    /** Reads the rest of an answer that is retried. */
    final void drain(Backoff backoff, int maxBytes) {
        drainedBy = backoff;
        aggregate(maxBytes, true);
    }

    /** The aggregated answer is complete. */
    final void aggregated(ByteBuf body, HttpHeaders trailers) {
        if (drainedBy != null) {
            drainedBy.drained(body, trailers);
            return;
        }
        complete(trailers);
        exchange.record().caller().answer(exchange.record().status(), head, body);
    }

    /** The answer's last byte has arrived. The caller may not have all of it yet. */
    final void complete(HttpHeaders trailers) {
        long now = exchange.now();
        BackendFailure failure = BackendFailures.ofGrpcStatus(backend, trailers);
        report(failure, now);
        recordUsualTime(failure, now);
        endAnswered(now);
        if (!trailers.isEmpty()) {
            exchange.record().caller().trailers(trailers);
        }
    }

    /**
     * Skips errors, which are often faster than answers, and streams, which end when either side wants.
     */
    private void recordUsualTime(@Nullable BackendFailure failure, long now) {
        ExchangeRecord record = exchange.record();
        boolean isFailure =
                failure != null || backend.settings().failureStatuses().get(record.status());
        if (!isFailure && !exchange.isStream() && !record.fellBack()) {
            record.route().usualTime().record(backendOnlyNanos(now), now);
        }
    }

    /** The connection failed after a part of the answer went to the caller. */
    final void answerBroken(Throwable failure) {
        long now = exchange.now();
        permits.markUnanswered(undisturbed(Evidence.UNAVAILABLE, now));
        evidence.failed(backendOnlyNanos(now), BackendFailures.of(Reason.CONNECTION_LOST), now);
        exchange.apply(new BreakOff(Reason.CONNECTION_LOST, Failures.describe(failure)));
    }

    /** The attempt failed before the caller received anything. */
    final void failed(Throwable failure) {
        if (drainedBy != null) {
            drainedBy.drainFailed();
        } else {
            exchange.apply(fail(failure));
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
        traceAnswered(status);
        evidence.answered(now);
        answer = BackendFailures.signOfLoad(status, head);
        BackendFailure failure = BackendFailures.ofHead(backend, status, head);
        Retry retry = RetryDecider.afterStatus(this, status, head, now);
        report(failure, now);
        markAnswered(now);
        return retry == null ? refuse : new Retry(retry.backoffNanos(), refuse, 0);
    }

    final Decision fail(Throwable failure) {
        Reason reason = Failures.reason(failure, isConnected());
        if (reason == Reason.CONNECT_TIMEOUT && grantsConnectAgain(exchange.now())) {
            return begin();
        }
        Refuse refuse = reason == Reason.BULKHEAD_FULL && instance.pool().isShortOfFiles()
                ? new Refuse(Reason.GATEWAY_OVERLOADED, "no file for a connection to the backend is free")
                : new Refuse(isOwnFailure ? Reason.INTERNAL_ERROR : reason, Failures.describe(failure));
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
        BackendFailure failure = BackendFailures.of(refuse.reason());
        switch (refuse.reason()) {
            case DEADLINE_EXCEEDED -> evidence.timedOut(backendOnlyNanos(now), failure, now);
            case CONNECT_TIMEOUT -> {
                permits.markUnanswered(undisturbed(Evidence.UNAVAILABLE, now));
                evidence.timedOut(backendOnlyNanos(now), failure, now);
            }
            default -> {
                permits.markUnanswered(undisturbed(Evidence.UNAVAILABLE, now));
                evidence.failed(backendOnlyNanos(now), failure, now);
            }
        }
        Retry retry = RetryDecider.afterFailure(this, refuse, isUnsent, now);
        return retry != null ? retry : refuse;
    }

    /** The backend has opened a WebSocket. */
    final void tunnelOpened(
            @Nullable String subprotocol,
            HttpHeaders fromBackend,
            BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        long now = exchange.now();
        int status = HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        traceAnswered(status);
        evidence.answered(now);
        evidence.succeeded(backendOnlyNanos(now), now);
        exchange.becomesTunnel();
        permits.upgraded(now);
        exchange.answerBegins(this, status, now);
        exchange.record()
                .caller()
                .upgrade(subprotocol, fromBackend, exchange.engine().limits().maxFrameBytes(), tunnel);
    }

    final void traceAnswered(int status) {
        ExchangeTrace trace = exchange.record().trace();
        if (trace != null) {
            trace.answered(status);
        }
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
        return Math.min(due, LeftBehind.dueNanos(this, now));
    }

    @Override
    public Decision check(long now) {
        AttemptTimeout timeout = AttemptTimeout.expired(this, now);
        if (timeout == null && HeldUpCall.isBelowMinimumRate(this, now)) {
            endedByCaller(now);
            return Refuse.BELOW_MINIMUM_RATE;
        }
        if (timeout == AttemptTimeout.CONNECT && grantsConnectAgain(now)) {
            return Step.WAIT;
        }
        if (timeout == null) {
            HeldUpCall.moveIfHeldUp(this, Evidence.NONE, now);
            HeldUpCall.look(this, now);
            long backendNanos = backendOnlyNanos(now);
            if (evidence.countIfStalled(backendNanos, now)) {
                permits.becameOverdue();
            }
            LeftBehind.moveIfSo(this, now);
            return evidence.isProbeGivenUp(backendNanos, now) ? Refuse.CIRCUIT_OPEN : Step.WAIT;
        }
        Refuse refuse = new Refuse(timeout.reason(), timeout.detail());
        if (timeout == AttemptTimeout.UPLOAD_IDLE) {
            endedByCaller(now);
            return refuse;
        }
        if (timeout == AttemptTimeout.ANSWER) {
            permits.markSample(undisturbed(Evidence.TIMED_OUT, now));
        }
        return fail(refuse, false);
    }

    /** Time until {@link #checkAnswering} must be called. */
    final long dueNanosAnswering(long now) {
        return Math.min(AttemptTimeout.dueNanosAnswering(this, now), HeldUpCall.dueNanos(this, true, now));
    }

    /** Checks the time-outs of an answer that has begun. */
    final Decision checkAnswering(long now) {
        if (AttemptTimeout.isStreamIdle(this, now)) {
            return new BreakOff(AttemptTimeout.STREAM_IDLE.reason(), AttemptTimeout.STREAM_IDLE.detail());
        }
        if (HeldUpCall.isBelowMinimumRate(this, now)) {
            endedByCaller(now);
            return BreakOff.BELOW_MINIMUM_RATE;
        }
        HeldUpCall.moveIfHeldUp(this, undisturbed(answer, now), now);
        return Step.WAIT;
    }

    @Override
    public Reason expiryReason(long now) {
        return isWaitingForUpload() && !isBackendAtFault(now) ? Reason.CLIENT_TOO_SLOW : Reason.DEADLINE_EXCEEDED;
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

    /**
     * Grants the connect time-out again, once, if the gateway itself has paused meanwhile: after a pause,
     * a timer may fire before the event loop reads that the connection is established.
     */
    private boolean grantsConnectAgain(long now) {
        if (isConnectGrantedAgain || !evidence.sawPause(now)) {
            return false;
        }
        isConnectGrantedAgain = true;
        connectEndsAt = now + backend.settings().connectTimeoutNanos();
        return true;
    }

    /**
     * Continues an attempt that has waited for an injected latency: it has reported the request to the trace,
     * and only now the time to connect begins.
     */
    final void takeOver(Attempt waited, long now) {
        target = waited.target;
        traceContext = waited.traceContext;
        isConnectGrantedAgain = true;
        connectEndsAt = now + AttemptTimeout.connectNanos(this, now);
    }

    /** The moment at which DNS, every address of the name, and TLS together have taken too long. */
    final long connectEndsAt() {
        return isConnectGrantedAgain ? connectEndsAt : startedAt + AttemptTimeout.connectNanos(this, startedAt);
    }

    /**
     * The time for which the gateway waited only for the backend; it stands still while the caller holds up
     * the call.
     */
    final long backendOnlyNanos(long now) {
        return Math.max(0, now - startedAt - callerNanos(now));
    }

    @Override
    public long backendNanos(long now) {
        return Math.max(0, permits.backendNanos(now) - callerNanos(now));
    }

    // ---------------------------------------------------------------- evidence for the backend's health

    final HealthEvidence evidence() {
        return evidence;
    }

    /** The deadline has passed while the gateway waited for the backend. */
    final void deadlinePassed(long now) {
        if (isBackendAtFault(now)) {
            permits.markSample(undisturbed(Evidence.TIMED_OUT, now));
        }
        evidence.missedDeadline(
                backendOnlyNanos(now),
                exchange.timer().deadline(),
                exchange.record().route().deadlineNanos(),
                now);
    }

    @Override
    public final void endedByCaller(long now) {
        evidence.endedByCaller(backendOnlyNanos(now), now);
    }

    private boolean isBackendAtFault(long now) {
        return HealthEvidence.isBackendAtFault(
                backendOnlyNanos(now),
                exchange.timer().deadline(),
                exchange.record().route().deadlineNanos());
    }

    final void report(@Nullable BackendFailure failure, long now) {
        if (failure != null && answer != Evidence.ANSWERED) {
            evidence.refused(backendOnlyNanos(now), failure, answer, now);
        } else if (failure != null) {
            evidence.failed(backendOnlyNanos(now), failure, now);
        } else {
            evidence.succeeded(backendOnlyNanos(now), now);
        }
    }

    /** The backend has answered; its answer is a sample for its limit. */
    final void markAnswered(long now) {
        permits.markSample(undisturbed(answer, now));
    }

    /** The evidence for the limit; none if the gateway itself has paused during the attempt. */
    private Evidence undisturbed(Evidence end, long now) {
        return evidence.sawPause(now) ? Evidence.NONE : end;
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
        markAnswered(now);
        releaseAdmission(now);
        exchange.answerComplete(now);
    }

    @Override
    public final Decision instanceOpened(Instance opened, long now) {
        Retry retry = instance.isSameAs(opened) ? RetryDecider.afterEjection(this, now) : null;
        return retry == null ? Step.WAIT : retry;
    }

    @Override
    public final Decision instanceGone(Pool left, long now) {
        Retry retry = instance.pool() == left ? RetryDecider.afterEjection(this, now) : null;
        return retry == null ? ExchangePhase.super.instanceGone(left, now) : retry;
    }

    @Override
    public final void routeStalled(RouteHealth stalled, long now) {
        if (!evidence.isAnswered()) {
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
        evidence.ignored();
        cancel();
        exchange.record().traceAttemptEnded(why, now);
        admission.release(why, now);
    }
}
