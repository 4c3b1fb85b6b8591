package io.weir.engine;

import io.netty.buffer.Unpooled;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.AskFallback;
import io.weir.engine.Decision.Await;
import io.weir.engine.Decision.BreakOff;
import io.weir.engine.Decision.Finish;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Replace;
import io.weir.engine.Decision.Retry;
import io.weir.engine.Decision.Step;
import io.weir.engine.ExchangePhase.EmptyPhase;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.overload.LoopPauses;
import java.util.function.BiFunction;
import java.util.function.Supplier;
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
 * <p>Where all gateways share a rate limit, {@code AwaitedQuota} comes first, for some milliseconds; where
 * the route has an authorizer, {@code Authorizing}.
 *
 * <p>A refusal leads from any phase before {@code Answering} to the end, or at most once to the fallback: to
 * {@code ReadingAhead} or {@code Admission} at another backend, or to {@code Flushing} with a static answer.
 * An answer that has begun can only be completed or broken off.
 *
 * <p>While a hedge runs beside the first attempt, {@link Hedging} is the phase; then it is the attempt that
 * is left.
 *
 * <p>The exchange holds one {@link ExchangePhase} at a time. The phase owns everything that the exchange
 * holds from the backend's compartment, and gives it back exactly once. What outlives a phase is in the
 * {@link ExchangeContext}, which is all that the phases see. They return {@link Decision}s; {@link #apply} is
 * the only place that carries them out.
 *
 * <p>Concurrency: confined to the event loop of the caller's connection. An event of another thread, such as
 * a granted permit or an answer on a connection of another event loop, hops to this event loop first. An
 * event after the end finds {@code DONE} and gives back its own resources. {@link #callerLeft},
 * {@link #flushed}, {@link #tunnelClosed} and {@link #shutDown} may be called from any thread. The class uses
 * neither locks nor atomics.
 */
public final class Exchange extends ExchangeContext {

    // The links of InFlightExchanges.
    @Nullable
    Exchange previous;

    @Nullable
    Exchange next;

    /** Whether the exchange is counted in the gateway's limit of exchanges in flight. For the engine. */
    boolean holdsPlace;

    private final Engine engine;
    private final InFlightExchanges inFlightOnLoop;
    private ExchangePhase phase = EmptyPhase.CREATED;

    /**
     * An exchange that is not {@linkplain #start started}.
     *
     * @param arrivedAt the moment at which the request's head was decoded, on the engine's clock
     */
    public Exchange(Engine engine, Route route, Caller caller, long arrivedAt) {
        super(route, caller, arrivedAt);
        this.engine = engine;
        this.inFlightOnLoop = engine.inFlightOn(loop());
    }

    @Override
    EngineResources resources() {
        return engine.resources();
    }

    @Override
    LoopPauses pauses() {
        return inFlightOnLoop.pauses();
    }

    /** The exchanges in flight on the same event loop. */
    InFlightExchanges inFlightOnLoop() {
        return inFlightOnLoop;
    }

    /** Starts the exchange. Called once, on the exchange's event loop. */
    public void start() {
        boolean cancelled = phase == EmptyPhase.CANCELLED_BEFORE_START;
        phase = EmptyPhase.STARTED;
        reportStart();
        Refuse refused = engine.register(this);
        if (cancelled) {
            // Observers see the exchange like any other, but no request is sent to a backend.
            leave();
            return;
        }
        apply(refused == null ? RequestCheck.begin(this) : refused);
    }

    @Override
    Exchange newCall(Route route, Caller caller) {
        return new Exchange(engine, route, caller, now());
    }

    @Override
    void startFor(ExchangeContext exchange) {
        phase = EmptyPhase.STARTED;
        timer().shorten(exchange.timer().leftNanos(now()));
        reportStart();
        record().beginFor(exchange.record());
        engine.registerCall(this);
        apply(Step.REQUEST_ADMISSION);
    }

    @Override
    void abandon() {
        abandoned(null);
    }

    @Override
    void apply(Decision first) {
        Decision decision = first;
        while (decision != Step.WAIT) {
            decision = switch (decision) {
                case Step.CHECK_QUOTA -> RequestCheck.checkQuota(this);
                case Step.TAKE_LOCAL_PERMIT -> RequestCheck.takeLocalPermit(this);
                case Step.CHECK_HEAD -> RequestCheck.checkHead(this);
                case Step.REQUEST_ADMISSION -> admit(record().backend(), phase.retriedResult());
                case Step.REQUEST_PERMIT -> requestPermit(phase(ReadingAhead.class));
                case Step.QUEUE -> await(phase);
                case Step.ADMIT -> startAttempt(phase(Admission.class));
                case Step.SEND -> begin(phase(InjectedAttempt.class).send(now()));
                case Step.WAIT -> Step.WAIT;
                case Await waiting -> await(waiting.phase());
                case Retry retry -> backOff(phase(Attempt.class), retry);
                case Replace replace -> replaceAnswer(phase(Attempt.class), replace);
                case AskFallback other -> admit(other.backend(), null);
                case Answer own -> answer(own);
                case Refuse refuse -> refuse(refuse);
                case Finish finish -> finish(finish);
                case BreakOff breakOff -> breakOff(breakOff);
            };
        }
    }

    @Override
    void resume(ExchangePhase waiting, Supplier<Decision> decision) {
        if (phase == waiting) {
            apply(decision.get());
        }
    }

    private <T extends ExchangePhase> T phase(Class<T> expected) {
        if (!expected.isInstance(phase)) {
            throw new IllegalStateException("phase: " + phase + " (expected: " + expected.getSimpleName() + ")");
        }
        return expected.cast(phase);
    }

    private Decision await(ExchangePhase waiting) {
        phase = waiting;
        armTimer(now());
        return Step.WAIT;
    }

    // ---------------------------------------------------------------- towards the backend

    /**
     * Reads the body ahead if necessary, then requests a permit of the route's backend, or the fallback's.
     *
     * @param retried the result of the attempt that is retried; null: none is
     */
    private Decision admit(Backend backend, @Nullable RetriedResult retried) {
        record().backend = backend;
        long now = now();
        Admission admission = new Admission(this, backend, retried);
        RequestBody incoming = incomingBody();
        if (incoming == null || !ReadingAhead.appliesTo(this, incoming, admission)) {
            phase = admission;
            return admission.request(now);
        }
        if (admission.entry().isRefusedBeforeReading(now)) {
            return admission.entry().refusal();
        }
        ReadingAhead reading = new ReadingAhead(this, admission, incoming, now);
        phase = reading;
        return armed(reading, reading.begin(), now);
    }

    /** Requests a permit for a body that is read ahead. */
    private Decision requestPermit(ReadingAhead reading) {
        long now = now();
        reading.release(null, now);
        phase = reading.admission();
        return reading.admission().request(now);
    }

    /** Starts an attempt with the permits of the admission. */
    private Decision startAttempt(Admission admission) {
        long now = now();
        HealthEvidence evidence = admission.enterBackend(now);
        if (evidence != null) {
            if (record().attempts++ == 0) {
                record().hedging = Hedging.of(this, evidence, now);
            }
            return begin(newAttempt(admission, evidence, now));
        }
        if (!admission.entry().foundNoRoom()) {
            return admission.entry().refusal();
        }
        Admission next = admission.withoutRoom(now);
        if (next == null) {
            return Refuse.BULKHEAD_FULL;
        }
        phase = next;
        return next.request(now);
    }

    @Override
    Attempt newAttempt(Admission admission, HealthEvidence evidence, long now) {
        return engine.attempt(this, admission, evidence, now);
    }

    private Decision begin(Attempt attempt) {
        phase = attempt;
        return armed(attempt, attempt.begin(), now());
    }

    /** Arms the timer for a phase that has begun, if it waits. */
    private Decision armed(ExchangePhase begun, Decision decision, long now) {
        if (phase == begun && decision == Step.WAIT) {
            armTimer(now);
        }
        return decision;
    }

    /** Ends the attempt and returns its permits; the next attempt requests new ones. */
    private Decision backOff(Attempt attempt, Retry retry) {
        long now = now();
        record().instanceFailed();
        Backoff backoff = new Backoff(this, attempt, retry, now);
        phase = backoff;
        backoff.begin(retry, now);
        armTimer(now);
        return Step.WAIT;
    }

    /** Ends the attempt and drains its answer, before another one takes its place. */
    private Decision replaceAnswer(Attempt attempt, Replace replace) {
        long now = now();
        Backoff draining = new Backoff(this, attempt, replace, now);
        phase = draining;
        draining.drain(now);
        armTimer(now);
        return Step.WAIT;
    }

    // ---------------------------------------------------------------- towards the caller

    @Override
    void answerBegins(Attempt attempt, int status, long now) {
        record().status = status;
        await(new Answering(attempt, new SlowReaderDetector(this, now)));
    }

    @Override
    void answerComplete(long now) {
        await(new Flushing(
                phase instanceof Answering answering ? answering.reader() : new SlowReaderDetector(this, now)));
    }

    /** Sends a complete answer of the gateway: the fallback's, or the one that was to be retried. */
    private Decision answer(Answer own) {
        long now = now();
        if (own.isFallback()) {
            releaseBody();
        }
        if (own.isFallback() || timer().leftNanos(now) <= 0) {
            timer().extend(now, resources().limits().readIdleNanos());
        }
        record().status = own.status();
        record().answerBytes = own.body().length;
        await(new Flushing(new SlowReaderDetector(this, now)));
        record().caller().answer(own.status(), own.headers(), Unpooled.wrappedBuffer(own.body()));
        return Step.WAIT;
    }

    // ---------------------------------------------------------------- events from outside

    @Override
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
        cancel(why, why == null ? record().status() : why.status().code());
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

    @Override
    void endFlushed() {
        if (phase instanceof Flushing) {
            end(record().reason(), record().detail(), record().status());
        }
    }

    @Override
    void endTunnel() {
        if (isStarted()) {
            end(null, null, record().status());
        }
    }

    /** Applies an event of the backend's compartment to the current phase, in a task of its own. */
    void post(BiFunction<ExchangePhase, Long, Decision> event) {
        loop().execute(() -> apply(event.apply(phase, now())));
    }

    @Override
    void cutShort(Reason why, @Nullable String detail) {
        apply(phase.cutShort(why, detail));
    }

    @Override
    void endTooSlow(String why) {
        if (isStarted()) {
            phase.endedByCaller(now());
            cutShort(Reason.CLIENT_TOO_SLOW, why);
        }
    }

    /** Arms the timer for the next moment at which something is due. */
    private void armTimer(long now) {
        timer().arm(now, Math.min(timer().dueNanos(now, isBounded()), phase.dueNanos(now)));
    }

    @Override
    void rearm() {
        armTimer(now());
    }

    @Override
    void timePassed() {
        if (!isStarted()) {
            return;
        }
        long now = now();
        if (isBounded() && timer().leftNanos(now) <= 0) {
            apply(phase.expire(now));
            return;
        }
        if (timer().wouldHaveExpired(now) && isBounded()) {
            record().backend().observer().wouldRefuse(phase.expiryReason(now));
        }
        apply(phase.check(now));
        if (isStarted()) {
            armTimer(now);
        }
    }

    /** Whether the deadline applies to the current phase: not to an answer with an open end. */
    private boolean isBounded() {
        return !hasOpenEnd() || !phase.isDelivering();
    }

    /** The gateway answers by itself, unless a fallback takes over. */
    private Decision refuse(Refuse refuse) {
        long now = now();
        ExchangePhase left = phase;
        phase = EmptyPhase.STARTED;
        left.release(refuse.reason(), now);
        return replace(refuse, left.retriedResult(), now);
    }

    private Decision finish(Finish finish) {
        Refusal refusal = finish.refusal();
        record().answerBytes = record().caller().received().refusalBytes(refusal);
        end(refusal.reason(), finish.detail(), refusal.status());
        record().caller().refuse(refusal);
        return Step.WAIT;
    }

    /** Breaks off an answer that has begun. */
    private Decision breakOff(BreakOff breakOff) {
        boolean callerSideCloses = phase.closesCallerSide(breakOff.reason());
        end(breakOff.reason(), breakOff.detail(), record().status());
        if (!callerSideCloses) {
            record().caller().reset();
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
        close(why, detail, status, now);
        engine.deregister(this);
        reportEnd();
    }

    /** The current phase. */
    ExchangePhase phase() {
        return phase;
    }

    /** The class that the backend learns: that of the attempt, which is lower for a retry or fallback. */
    public Priority attemptPriority() {
        return switch (phase) {
            case Attempt attempt -> attempt.admission().priority();
            case Hedging both -> both.priority();
            default -> priority();
        };
    }

    @Override
    public boolean isUnderWay() {
        return !isOver() && !(phase instanceof Flushing);
    }

    /** Whether the exchange has ended; the door may still write bytes. On the exchange's event loop. */
    public boolean isOver() {
        return phase == EmptyPhase.DONE;
    }

    private boolean isStarted() {
        return phase != EmptyPhase.CREATED && phase != EmptyPhase.CANCELLED_BEFORE_START && !isOver();
    }

    /** Time with backends so far, the current one included. */
    public long backendNanosSoFar() {
        return record().backendNanos() + phase.backendNanos(now());
    }
}
