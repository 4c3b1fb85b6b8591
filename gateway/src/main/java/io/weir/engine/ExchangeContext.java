package io.weir.engine;

import io.netty.channel.EventLoop;
import io.weir.engine.Decision.Answer;
import io.weir.engine.Decision.Finish;
import io.weir.engine.Decision.Refuse;
import io.weir.limit.Priority;
import io.weir.outcome.Reason;
import io.weir.overload.LoopPauses;
import io.weir.slowcaller.SlowCaller;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An exchange as its phases and other parts see it: what lasts from its start to its end, and the events that
 * they report to it. Which phase the exchange is in, and what follows from an event, only the {@link
 * Exchange} knows.
 *
 * <p>Concurrency: confined to the exchange's event loop; {@link #loop} and the clock are for any thread.
 */
abstract class ExchangeContext {

    private final ExchangeRecord record;
    private final EventLoop loop;
    private final ExchangeTimer timer;
    private final boolean webSocket;
    private boolean isTunnel;

    /** The request's body; null: none, or it is not needed yet. */
    private @Nullable RequestBody body;

    /** The fallback in use; at most one per exchange. */
    private @Nullable ActiveFallback fallback;

    /** The caller's progress, from the first moment on in which it holds up the call; null: it has not. */
    private @Nullable SlowCaller slowCaller;

    ExchangeContext(Route route, Caller caller, long arrivedAt) {
        this.record = new ExchangeRecord(route, caller, arrivedAt);
        this.loop = caller.received().channel().eventLoop();
        this.webSocket = caller.received().asksForWebSocket();
        this.timer = new ExchangeTimer(this);
    }

    // ---------------------------------------------------------------- events

    /** Carries out a decision, and the decisions that follow from it. */
    abstract void apply(Decision decision);

    /** Carries out the decision after an event for which a phase has waited, unless the phase has ended. */
    abstract void resume(ExchangePhase waiting, Supplier<Decision> decision);

    /** Arms the timer again, since something in the current phase may be due earlier than before. */
    abstract void rearm();

    /** The timer has fired: something may be due. */
    abstract void timePassed();

    /** The caller has left. */
    abstract void leave();

    /** The answer's last byte is flushed to the caller. */
    abstract void endFlushed();

    /** Both sides of the tunnel are closed. */
    abstract void endTunnel();

    /**
     * Ends the exchange before the backend's answer is complete: refuses, or resets an answer that has begun.
     */
    abstract void cutShort(Reason why, @Nullable String detail);

    /** Ends the exchange, because its caller is slow and others need what it holds. */
    abstract void endTooSlow(String why);

    /** The caller gets the backend's status now, and the answer's body as it arrives. */
    abstract void answerBegins(Attempt attempt, int status, long now);

    /** The backend's answer is complete. The caller may not have all of it yet. */
    abstract void answerComplete(long now);

    /** An attempt of this exchange, with an injected fault if one is active. It has not begun. */
    abstract Attempt newAttempt(Admission admission, HealthEvidence evidence, long now);

    // ---------------------------------------------------------------- calls on behalf of the exchange

    /** A call of the gateway on behalf of this exchange, on the same event loop. It is not started. */
    abstract ExchangeContext newCall(Route route, Caller caller);

    /**
     * Starts a call on behalf of an exchange: within its time, with its identity. It is neither checked nor
     * counted in the gateway's limit of exchanges in flight, since that exchange is.
     */
    abstract void startFor(ExchangeContext exchange);

    /** Ends a call of which nothing more is needed. */
    abstract void abandon();

    // ---------------------------------------------------------------- events from any thread

    /** The caller has left, or its answer could not be written. From any thread. */
    public void callerLeft() {
        run(this::leave);
    }

    /** The answer's last byte is flushed to the caller. From any thread. */
    public void flushed() {
        run(this::endFlushed);
    }

    /** Both sides of the tunnel are closed. From any thread. */
    public void tunnelClosed() {
        loop.execute(this::endTunnel);
    }

    /** The gateway stops: ends the exchange unless its answer is already complete. From any thread. */
    public void shutDown() {
        loop.execute(() -> {
            if (isUnderWay()) {
                cutShort(Reason.SHUTTING_DOWN, null);
            }
        });
    }

    private void run(Runnable event) {
        if (loop.inEventLoop()) {
            event.run();
        } else {
            loop.execute(event);
        }
    }

    // ---------------------------------------------------------------- start and end

    void reportStart() {
        record.route().inFlight().begin();
        record.trace = record.route().observer().began(record);
    }

    /**
     * Decides what the caller gets in place of the backend's answer.
     *
     * @param retried the result of the attempt that was to be retried; null: there is none
     */
    Decision replace(Refuse refuse, @Nullable RetriedResult retried, long now) {
        if (retried instanceof RetriedResult.Answered answered) {
            // No further attempt starts.
            Answer lastGood = LastGoodAnswers.insteadOf(answered.status(), this);
            return lastGood == null ? answered.answer() : lastGood;
        }
        Refuse ending = retried == null ? refuse : retried.insteadOf(refuse);
        if (fallback != null) {
            Answer lastGood = LastGoodAnswers.insteadOf(fallback.original(), this);
            return lastGood == null ? new Finish(fallback.originalRefusal(), record.detail()) : lastGood;
        }
        // The answer of another backend is fresh, so it comes first; a static answer comes last.
        boolean isOtherFirst = ActiveFallback.asksBackend(record.route());
        Answer first = isOtherFirst ? null : LastGoodAnswers.insteadOf(ending, this);
        if (first != null) {
            return first;
        }
        ActiveFallback taken = ActiveFallback.take(this, ending.reason());
        fallback = taken;
        if (taken != null) {
            return taken.begin(ending, now);
        }
        Answer last = isOtherFirst ? LastGoodAnswers.insteadOf(ending, this) : null;
        return last == null ? new Finish(Refusals.of(ending, record, resources()), ending.detail()) : last;
    }

    /** Gives back what lasts for the whole exchange. Called once, after the last phase is released. */
    void close(@Nullable Reason why, @Nullable String detail, int status, long now) {
        releaseBody();
        record.end(why, detail, status, now);
        if (fallback != null) {
            fallback.release();
        }
        if (slowCaller != null) {
            slowCaller.end();
        }
        timer.cancel();
    }

    void reportEnd() {
        ExchangeTrace trace = record.trace();
        if (trace != null) {
            trace.ended(record);
        }
        record.route().observer().ended(record);
        record.route().inFlight().end();
    }

    // ---------------------------------------------------------------- facts

    /** Whether the backend's answer is still incomplete. On the exchange's event loop. */
    public abstract boolean isUnderWay();

    /** The facts of the exchange; final after its end. */
    public ExchangeRecord record() {
        return record;
    }

    /** The class of the call; known from the start, before any decision. */
    public Priority priority() {
        return record.priority();
    }

    /** What all exchanges use. */
    abstract EngineResources resources();

    EventLoop loop() {
        return loop;
    }

    /** The pauses of the event loop. */
    abstract LoopPauses pauses();

    ExchangeTimer timer() {
        return timer;
    }

    long now() {
        return resources().nanoTime();
    }

    /** The request's body; null: none. */
    @Nullable
    RequestBody body() {
        return body;
    }

    /** The request's body, of which nothing may be read yet; null: none. */
    @Nullable
    RequestBody incomingBody() {
        if (body == null && record.caller().hasBody()) {
            body = new RequestBody(this);
        }
        return body;
    }

    /** Bytes of the request's body that the caller has sent. */
    long sentBytes() {
        return body == null ? 0 : body.receivedBytes();
    }

    void releaseBody() {
        if (body != null) {
            body.release();
        }
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
            known = new SlowCaller(loop, this::endTooSlow, resources().slowCallers());
            slowCaller = known;
        }
        return known;
    }

    /** The backend has opened a WebSocket, which has no deadline. */
    void becomesTunnel() {
        isTunnel = true;
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
        return webSocket || !isCall();
    }

    /** Whether the answer may last as long as it has traffic: a stream, or an open WebSocket. */
    boolean hasOpenEnd() {
        return isTunnel || !isCall();
    }
}
