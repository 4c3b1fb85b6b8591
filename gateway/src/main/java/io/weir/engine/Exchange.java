package io.weir.engine;

import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.weir.access.AddressRule;
import io.weir.authentication.AuthenticationRule;
import io.weir.authentication.KeysAwaited;
import io.weir.authentication.TokenVerdict;
import io.weir.engine.Decision.AskFallback;
import io.weir.engine.Decision.BreakOff;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Retry;
import io.weir.engine.Decision.Step;
import io.weir.engine.ExchangePhase.EmptyPhase;
import io.weir.health.RouteHealth;
import io.weir.instance.Instance;
import io.weir.instance.Pool;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.ratelimit.Quota;
import io.weir.ratelimit.RateLimiter;
import org.jspecify.annotations.Nullable;

/**
 * One caller's request on its way through the gateway: the state machine at the centre of the product.
 *
 * <pre>
 *  CREATED ─► (AwaitingKeys: of a token's issuer)
 *       │
 *       ├───► ReadingAhead ─► Admission ─────► Attempt ──────────► Answering ─────────► Flushing ─► DONE
 *       │       (a body)    ▲ (may queue) permit │   │ answer's head          last byte     ▲   flushed
 *       └──── no body ──────┤                    ▼   └──── a small answer is complete ──────┘
 *                           └───────────────── Backoff
 * </pre>
 *
 * <p>Where all gateways share a rate limit, {@code AwaitedQuota} comes first, for some milliseconds.
 *
 * <p>A refusal leads from any phase before {@code Answering} to the end, or at most once to the fallback: to
 * {@code ReadingAhead} or {@code Admission} at another backend, or to {@code Flushing} with a static answer.
 * An answer that has begun can only be completed or broken off.
 *
 * <p>The exchange holds one {@link ExchangePhase} at a time. The phase owns everything that the exchange
 * holds from the backend's compartment, and gives it back exactly once. Three things outlive a phase: the
 * {@link ExchangeTimer}, the {@link RequestBody}, and the {@link ActiveFallback} with its permit. The parts
 * of an exchange return {@link Decision}s; {@link #apply} is the only place that carries them out.
 *
 * <p>Concurrency: confined to the event loop of the caller's connection. An event of another thread, such as
 * a granted permit or an answer on a connection of another event loop, hops to this event loop first. An
 * event after the end finds {@code DONE} and gives back its own resources. {@link #callerLeft},
 * {@link #flushed}, {@link #tunnelClosed} and {@link #shutDown} may be called from any thread. The class uses
 * neither locks nor atomics.
 *
 * <p>The class is longer than others, and stays whole: one file shows every transition and the single end.
 */
public final class Exchange {

    private static final String INSTANCE_LEFT = "the instance has left the backend";

    private final ExchangeRecord record;
    private final Engine engine;
    private final EventLoop loop;
    private final InFlightExchanges inFlightOnLoop;
    private final ExchangeTimer timer;
    private final boolean webSocket;
    private boolean tunnel;

    // The links of InFlightExchanges.
    @Nullable
    Exchange previous;

    @Nullable
    Exchange next;

    private ExchangePhase phase = EmptyPhase.CREATED;
    /** The request's body; null: none, or the exchange has not started. */
    private @Nullable RequestBody body;

    /** The caller's progress, from the first moment on in which it holds up the call; null: it has not. */
    private @Nullable SlowCaller slowCaller;

    /** The fallback in use; at most one per exchange. */
    private @Nullable ActiveFallback fallback;

    /**
     * An exchange that is not {@linkplain #start started}.
     *
     * @param arrivedAt the moment at which the request's head was decoded, on the engine's clock
     */
    public Exchange(Engine engine, Route route, Caller caller, long arrivedAt) {
        this.engine = engine;
        this.record = new ExchangeRecord(route, caller, arrivedAt);
        this.loop = caller.channel().eventLoop();
        this.inFlightOnLoop = engine.inFlightOn(loop);
        this.webSocket = caller.asksForWebSocket();
        this.timer = new ExchangeTimer(this);
    }

    // ---------------------------------------------------------------- towards the backend

    /** Starts the exchange. Called once, on the exchange's event loop. */
    public void start() {
        boolean cancelled = phase == EmptyPhase.CANCELLED_BEFORE_START;
        phase = EmptyPhase.STARTED;
        record.route().inFlight().begin();
        record.trace = record.route().observer().began(record);
        Refuse refused = engine.register(this);
        if (cancelled) {
            // Observers see the exchange like any other, but no request is sent to a backend.
            leave();
            return;
        }
        apply(refused == null ? checkRequest() : refused);
    }

    /**
     * Refuses a request whose caller may not use the route or is over its quota, and one that cannot be
     * passed on; otherwise requests a permit.
     */
    private Decision checkRequest() {
        AddressRule access = record.route().access();
        if (access != null && !access.permits(record.caller().clientAddress())) {
            return Refuse.FORBIDDEN;
        }
        AuthenticationRule authentication = record.route().authentication();
        return authentication == null ? checkQuota() : authenticate(authentication);
    }

    /** Refuses a request without the proof of identity that the route requires. */
    private Decision authenticate(AuthenticationRule rule) {
        Refuse withoutCertificate = AuthenticationCheck.certificateRefusal(rule, record.caller());
        if (withoutCertificate != null || !rule.needsToken()) {
            return withoutCertificate == null ? checkQuota() : withoutCertificate;
        }
        TokenVerdict verdict = AuthenticationCheck.tokenVerdict(rule, record);
        if (verdict instanceof KeysAwaited awaited) {
            AwaitingKeys awaiting = new AwaitingKeys(AuthenticationCheck.refuse(awaited.otherwise()));
            phase = awaiting;
            if (awaiting.begin(this, awaited)) {
                armTimer(now());
                return Step.WAIT;
            }
        }
        Refuse refused = AuthenticationCheck.finalRefusal(verdict);
        return refused == null ? checkQuota() : refused;
    }

    /** The keys that the exchange waits for are fetched, or could not be. */
    void keysFetched(AwaitingKeys awaiting) {
        AuthenticationRule rule = record.route().authentication();
        if (phase != awaiting || rule == null) {
            // The caller has left, the deadline has passed, or the gateway stops.
            return;
        }
        phase = EmptyPhase.STARTED;
        Refuse refused = AuthenticationCheck.finalRefusal(AuthenticationCheck.tokenVerdict(rule, record));
        apply(refused == null ? checkQuota() : refused);
    }

    /** Refuses a request that is over its quota or cannot be passed on; otherwise requests a permit. */
    private Decision checkQuota() {
        RateLimiter limiter = record.route().rateLimiter();
        if (limiter != null && limiter.asksShared()) {
            return awaitQuota(limiter);
        }
        return takeLocalPermit();
    }

    private Decision awaitQuota(RateLimiter limiter) {
        long now = now();
        AwaitedQuota awaited = new AwaitedQuota(this, limiter, now);
        phase = awaited;
        awaited.begin();
        armTimer(now);
        return Step.WAIT;
    }

    /**
     * The counter that all gateways share has answered.
     *
     * @param quota null: it has failed, and this gateway's own count decides
     */
    void quotaArrived(AwaitedQuota awaited, @Nullable Quota quota) {
        if (phase != awaited) {
            return;
        }
        if (quota == null) {
            apply(takeLocalPermit());
            return;
        }
        phase = EmptyPhase.STARTED;
        Refuse overQuota = QuotaCheck.judge(record, awaited.limiter(), quota);
        apply(overQuota == null ? checkHead() : overQuota);
    }

    private Decision takeLocalPermit() {
        phase = EmptyPhase.STARTED;
        Refuse overQuota = QuotaCheck.refusal(record);
        return overQuota == null ? checkHead() : overQuota;
    }

    private Decision checkHead() {
        Caller caller = record.caller();
        try {
            timer.shorten(caller.headers());
        } catch (IllegalArgumentException e) {
            return new Refuse(Reason.BAD_REQUEST, e.getMessage());
        }
        if (caller.hasBody()
                && ContentLength.of(caller.headers()) > engine.limits().maxBodyBytes()) {
            return Refuse.PAYLOAD_TOO_LARGE;
        }
        return admit(record.backend(), null);
    }

    /** Carries out a decision, and the decisions that follow from it. */
    void apply(Decision first) {
        Decision decision = first;
        while (decision != Step.WAIT) {
            decision = switch (decision) {
                case Step.ADMIT -> startAttempt();
                case Step.REQUEST_PERMIT -> requestPermit();
                case Step.QUEUE -> awaitPermit();
                case Step.SEND -> sendDelayed();
                case Step.REQUEST_AGAIN -> requestAgain();
                case Step.ANSWER_FALLBACK -> answerFallback();
                case Step.TAKE_LOCAL_PERMIT -> takeLocalPermit();
                case Step.WAIT -> Step.WAIT;
                case Retry retry -> backOff(retry);
                case AskFallback fallbackBackend -> admitFallback(fallbackBackend.backend());
                case Refuse refuse -> refuse(refuse);
                case BreakOff breakOff -> breakOff(breakOff);
            };
        }
    }

    /**
     * Reads the body ahead if necessary, then requests a permit of the route's backend, or the fallback's.
     *
     * @param retried the result of the attempt that is retried; null: none is
     */
    private Decision admit(Backend backend, @Nullable RetriedResult retried) {
        record.backend = backend;
        long now = now();
        Admission admission = new Admission(this, backend, retried);
        RequestBody incoming = body;
        if (incoming == null && record.caller().hasBody()) {
            incoming = new RequestBody(this);
            body = incoming;
        }
        if (incoming == null || !ReadingAhead.appliesTo(this, incoming, admission)) {
            phase = admission;
            return admission.request(now);
        }
        if (admission.entry().isRefusedBeforeReading(now)) {
            return admission.entry().refusal();
        }
        ReadingAhead reading = new ReadingAhead(this, admission, incoming, now);
        phase = reading;
        Decision decision = reading.begin();
        if (decision == Step.WAIT && phase == reading) {
            armTimer(now);
        }
        return decision;
    }

    private Decision admitFallback(Backend backend) {
        record.leaveInstances();
        return admit(backend, null);
    }

    /** Requests a permit for a body that is read ahead. */
    private Decision requestPermit() {
        if (!(phase instanceof ReadingAhead reading)) {
            throw new IllegalStateException("phase: " + phase + " (expected: reading ahead)");
        }
        long now = now();
        reading.release(null, now);
        phase = reading.admission();
        return reading.admission().request(now);
    }

    /** Ends the upload if it is still being read ahead. */
    void endReadingAhead(ReadingAhead reading, Refuse refuse) {
        if (phase == reading) {
            apply(refuse);
        }
    }

    private Decision awaitPermit() {
        armTimer(now());
        return Step.WAIT;
    }

    /** Starts an attempt with the permits of the current admission. */
    private Decision startAttempt() {
        long now = now();
        if (!(phase instanceof Admission admission)) {
            throw new IllegalStateException("phase: " + phase + " (expected: one that holds a permit)");
        }
        HealthEvidence evidence = admission.enterBackend(now);
        if (evidence == null) {
            return admission.entry().foundNoRoom()
                    ? awaitRoom(admission, now)
                    : admission.entry().refusal();
        }
        record.attempts++;
        return begin(engine.attempt(this, admission, evidence, now), now);
    }

    /** Sends the request of an attempt whose injected latency has passed. */
    private Decision sendDelayed() {
        if (!(phase instanceof InjectedAttempt delayed)) {
            throw new IllegalStateException("phase: " + phase + " (expected: an attempt with a latency)");
        }
        long now = now();
        return begin(delayed.send(now), now);
    }

    private Decision begin(Attempt attempt, long now) {
        phase = attempt;
        Decision decision = attempt.begin();
        if (phase == attempt && decision == Step.WAIT) {
            armTimer(now);
        }
        return decision;
    }

    /** Requests another permit, since all instances have become full. */
    private Decision awaitRoom(Admission full, long now) {
        Admission next = full.withoutRoom(now);
        if (next == null) {
            return Refuse.BULKHEAD_FULL;
        }
        phase = next;
        return next.request(now);
    }

    /** Ends the attempt and returns its permits; the next attempt requests new ones. */
    private Decision backOff(Retry retry) {
        long now = now();
        if (!(phase instanceof Attempt attempt)) {
            throw new IllegalStateException("phase: " + phase + " (expected: an attempt)");
        }
        record.instanceFailed();
        Backoff backoff = new Backoff(this, attempt, retry, now);
        phase = backoff;
        backoff.begin(retry, now);
        armTimer(now);
        return Step.WAIT;
    }

    private Decision requestAgain() {
        return admit(record.backend(), phase.retriedResult());
    }

    // ---------------------------------------------------------------- towards the caller

    /** The caller gets the backend's status now, and the answer's body as it arrives. */
    void answerBegins(Attempt attempt, int status, long now) {
        record.status = status;
        phase = new Answering(attempt, new SlowReaderDetector(this, now));
        armTimer(now);
    }

    /** The backend has opened a WebSocket; the tunnel has no deadline. */
    void tunnelBegins(Attempt attempt, int status, long now) {
        tunnel = true;
        attempt.permits().upgraded(now);
        answerBegins(attempt, status, now);
    }

    /** The attempt received the last byte of its answer. The caller may not have all of it yet. */
    void answerComplete(Attempt attempt, long bytes, long now) {
        SlowReaderDetector reader =
                phase instanceof Answering answering ? answering.reader() : new SlowReaderDetector(this, now);
        record.answerBytes = bytes;
        record.traceAttemptEnded(null, now);
        attempt.markAnswered(now);
        attempt.releaseAdmission(now);
        flush(reader, now);
    }

    private Decision answerFallback() {
        ActiveFallback active = fallback;
        if (active == null) {
            throw new IllegalStateException("no fallback is active");
        }
        long now = now();
        releaseBody();
        timer.extend(now, engine.limits().readIdleNanos());
        record.status = active.status();
        record.answerBytes = active.bodyBytes();
        flush(new SlowReaderDetector(this, now), now);
        active.answer();
        return Step.WAIT;
    }

    private void flush(SlowReaderDetector reader, long now) {
        phase = new Flushing(reader);
        armTimer(now);
    }

    // ---------------------------------------------------------------- events from outside

    /** The caller has left, or its answer could not be written. From any thread. */
    public void callerLeft() {
        if (loop.inEventLoop()) {
            leave();
        } else {
            loop.execute(this::leave);
        }
    }

    /** The caller has left. */
    void leave() {
        cancel(Reason.CLIENT_CLOSED, Reason.CLIENT_CLOSED.status().code());
    }

    /**
     * The door ends the exchange, because its filters need no more of the answer or have failed. On the
     * exchange's event loop.
     *
     * @param why null: the door considers the answer complete
     */
    public void abandoned(@Nullable Reason why) {
        cancel(why, why == null ? record.status() : why.status().code());
    }

    /** Ends the exchange without sending anything more to the caller. */
    private void cancel(@Nullable Reason why, int status) {
        if (phase == EmptyPhase.CREATED) {
            phase = EmptyPhase.CANCELLED_BEFORE_START;
        } else if (isStarted()) {
            phase.endedByCaller(now());
            end(why, null, status);
        }
    }

    /** The answer's last byte is flushed to the caller. From any thread. */
    public void flushed() {
        if (loop.inEventLoop()) {
            endFlushed();
        } else {
            loop.execute(this::endFlushed);
        }
    }

    private void endFlushed() {
        if (phase instanceof Flushing) {
            end(record.reason(), record.detail(), record.status());
        }
    }

    /** Both sides of the tunnel are closed. From any thread. */
    public void tunnelClosed() {
        loop.execute(() -> {
            if (isStarted()) {
                end(null, null, record.status());
            }
        });
    }

    /** The gateway stops: ends the exchange unless its answer is already complete. From any thread. */
    public void shutDown() {
        loop.execute(() -> {
            if (isUnderWay()) {
                apply(phase.cutShort(Reason.SHUTTING_DOWN, null));
            }
        });
    }

    /**
     * The instance of the exchange has opened: a call that waits in it for its answer, and may be sent twice,
     * goes to another one. From any thread.
     */
    void instanceOpened(Instance opened) {
        loop.execute(() -> {
            if (phase instanceof Attempt attempt && attempt.instance.isSameAs(opened)) {
                Retry retry = RetryDecider.afterEjection(attempt, now());
                if (retry != null) {
                    apply(retry);
                }
            }
        });
    }

    /** The calls of a route hang. On the exchange's event loop. */
    void routeStalled(RouteHealth stalled) {
        if (phase instanceof Attempt attempt && !attempt.evidence().isAnswered()) {
            attempt.permits().giveBackIfOf(stalled, now());
        }
    }

    /**
     * The instance of the exchange has left, and its drain time-out has passed: a call that waits for its
     * answer, and may be sent twice, goes to another instance; any other exchange ends. From any thread.
     */
    void instanceGone(Pool left) {
        loop.execute(() -> {
            Instance used = phase.usedInstance();
            if (used == null || used.pool() != left || phase instanceof Backoff) {
                // A backoff reads the rest of an answer for a moment only.
                return;
            }
            Retry retry = phase instanceof Attempt attempt ? RetryDecider.afterEjection(attempt, now()) : null;
            apply(retry == null ? phase.cutShort(Reason.CONNECTION_LOST, INSTANCE_LEFT) : retry);
        });
    }

    /** The instance whose connection the exchange uses or asks for; null: none. */
    @Nullable
    Instance usedInstance() {
        return phase.usedInstance();
    }

    /**
     * Ends the exchange before the backend's answer is complete: refuses, or resets an answer that has begun.
     */
    void cutShort(Reason why, @Nullable String detail) {
        apply(phase.cutShort(why, detail));
    }

    /** Ends the exchange, because its caller is slow and others need what it holds. */
    void endTooSlow(String why) {
        if (!isStarted()) {
            return;
        }
        phase.endedByCaller(now());
        cutShort(Reason.CLIENT_TOO_SLOW, why);
    }

    // ---------------------------------------------------------------- time

    /** Arms the timer for the next moment at which something is due. */
    private void armTimer(long now) {
        timer.arm(now, Math.min(timer.dueNanos(now, isBounded()), phase.dueNanos(now)));
    }

    /** Arms the timer again, since something in the current phase may be due earlier than before. */
    void rearm() {
        armTimer(now());
    }

    /** The timer has fired: something may be due. */
    void timePassed() {
        if (!isStarted()) {
            return;
        }
        long now = now();
        if (isBounded() && timer.leftNanos(now) <= 0) {
            apply(phase.expire(now));
            return;
        }
        if (timer.wouldHaveExpired(now) && isBounded()) {
            record.backend().observer().wouldRefuse(phase.expiryReason(now));
        }
        apply(phase.check(now));
        if (isStarted()) {
            armTimer(now);
        }
    }

    /**
     * Whether the deadline applies to the current phase. To an answer with an open end it does not apply.
     */
    private boolean isBounded() {
        return !hasOpenEnd() || !phase.isDelivering();
    }

    // ---------------------------------------------------------------- the end

    /** The gateway answers by itself, unless a fallback takes over. */
    private Decision refuse(Refuse refuse) {
        long now = now();
        ExchangePhase left = phase;
        phase = EmptyPhase.STARTED;
        left.release(refuse.reason(), now);
        RetriedResult retried = left.retriedResult();
        if (retried instanceof RetriedResult.Answered answered) {
            answerRetried(answered, now);
            return Step.WAIT;
        }
        return refuseOrFallBack(retried == null ? refuse : retried.insteadOf(refuse), now);
    }

    private Decision refuseOrFallBack(Refuse refuse, long now) {
        ActiveFallback active = fallback;
        if (active != null) {
            answerRefusal(active.originalRefusal(), record.detail());
            return Step.WAIT;
        }
        ActiveFallback taken = ActiveFallback.take(this, refuse.reason());
        if (taken != null) {
            fallback = taken;
            return taken.begin(refuse, now);
        }
        answerRefusal(Refusals.of(refuse, record, engine), refuse.detail());
        return Step.WAIT;
    }

    /** Sends the answer that was to be retried to the caller, since no further attempt starts. */
    private void answerRetried(RetriedResult.Answered answered, long now) {
        if (timer.leftNanos(now) <= 0) {
            timer.extend(now, engine.limits().readIdleNanos());
        }
        record.status = answered.status();
        record.answerBytes = answered.body().length;
        flush(new SlowReaderDetector(this, now), now);
        record.caller().answer(answered.status(), answered.headers(), Unpooled.wrappedBuffer(answered.body()));
    }

    private void answerRefusal(Refusal refusal, @Nullable String detail) {
        record.answerBytes = record.caller().refusalBytes(refusal);
        end(refusal.reason(), detail, refusal.status());
        record.caller().refuse(refusal);
    }

    /** Breaks off an answer that has begun. */
    private Decision breakOff(BreakOff breakOff) {
        boolean callerSideCloses = phase.closesCallerSide(breakOff.reason());
        end(breakOff.reason(), breakOff.detail(), record.status());
        if (!callerSideCloses) {
            record.caller().reset();
        }
        return Step.WAIT;
    }

    private void end(@Nullable Reason why, @Nullable String detail, int status) {
        if (phase == EmptyPhase.DONE) {
            throw new IllegalStateException("the exchange has ended already (expected: one end)");
        }
        long now = now();
        ExchangePhase left = phase;
        // Before the release: closing a tunnel calls back into the exchange through the door.
        phase = EmptyPhase.DONE;
        left.release(why, now);
        releaseBody();
        record.end(why, detail, status, now);
        ActiveFallback active = fallback;
        if (active != null) {
            active.release();
        }
        SlowCaller slow = slowCaller;
        if (slow != null) {
            slow.end();
        }
        timer.cancel();
        engine.deregister(this);
        ExchangeTrace trace = record.trace();
        if (trace != null) {
            trace.ended(record);
        }
        record.route().observer().ended(record);
        record.route().inFlight().end();
    }

    private void releaseBody() {
        RequestBody unsent = body;
        if (unsent != null) {
            unsent.release();
        }
    }

    // ---------------------------------------------------------------- facts

    /** The facts of the exchange; final after its end. */
    public ExchangeRecord record() {
        return record;
    }

    /** The class of the call; known from the start, before any decision. */
    public Priority priority() {
        return record.priority();
    }

    /**
     * The class that the backend learns: that of the present attempt, which is lower for a retry or fallback.
     */
    public Priority attemptPriority() {
        return phase instanceof Attempt attempt ? attempt.admission().priority() : record.priority();
    }

    /** Whether the backend's answer is still incomplete. On the exchange's event loop. */
    public boolean isUnderWay() {
        return !isOver() && !(phase instanceof Flushing);
    }

    /**
     * Whether the exchange has ended; the door may still be writing bytes. On the exchange's event loop.
     */
    public boolean isOver() {
        return phase == EmptyPhase.DONE;
    }

    private boolean isStarted() {
        return phase != EmptyPhase.CREATED && phase != EmptyPhase.CANCELLED_BEFORE_START && phase != EmptyPhase.DONE;
    }

    /** Time with backends so far, the current one included. */
    public long backendNanosSoFar() {
        return record.backendNanos() + phase.backendNanos(now());
    }

    /** The request's body; null: none. */
    @Nullable
    RequestBody body() {
        return body;
    }

    /** The caller's progress; null: it has not held up the call so far. */
    @Nullable
    SlowCaller slowCaller() {
        return slowCaller;
    }

    /** The progress of a caller that holds up the call. */
    SlowCaller heldUp() {
        SlowCaller known = slowCaller;
        if (known == null) {
            known = new SlowCaller(this, engine.slowCallers());
            slowCaller = known;
        }
        return known;
    }

    /** Bytes of the request's body that the caller has sent. */
    long sentBytes() {
        RequestBody sent = body;
        return sent == null ? 0 : sent.receivedBytes();
    }

    Engine engine() {
        return engine;
    }

    EventLoop loop() {
        return loop;
    }

    /** The exchanges in flight on the same event loop, and the loop's pauses. */
    InFlightExchanges inFlightOnLoop() {
        return inFlightOnLoop;
    }

    ExchangeTimer timer() {
        return timer;
    }

    long now() {
        return engine.nanoTime();
    }

    boolean isWebSocket() {
        return webSocket;
    }

    /** Whether the exchange counts as a call of the backend: its route is not in stream mode. */
    boolean isCall() {
        return record.route().mode() != Mode.STREAM;
    }

    /** Whether the exchange counts as a stream: its route is one, or the request asks for a WebSocket. */
    boolean isStream() {
        return webSocket || record.route().mode() == Mode.STREAM;
    }

    /** Whether the answer may last as long as it has traffic: a stream, or an open WebSocket. */
    boolean hasOpenEnd() {
        return tunnel || record.route().mode() == Mode.STREAM;
    }
}
