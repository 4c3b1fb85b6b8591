package io.weir.engine;

import io.weir.health.Breaker.Permission;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * One caller's request on its way: the state machine that the whole product is about.
 *
 * <pre>
 *           refused                       refused
 *  NEW ──► (permit free?) ── no ──► QUEUED ──► DISPATCHED ──► ANSWERING ──► FLUSHING ──► DONE
 *             └── yes ─────────────────────────▲   │  ▲ head         last byte   flushed
 *                                              └───┘ RETRYING                of backend
 * </pre>
 *
 * <p>What it holds, and gives back exactly once: by its {@link Admission} its route's permit and its backend's, or a place in the
 * queue, until the backend's last byte or the end; by its {@link Attempt} the breaker's permission, until the verdict, and a connection; its fallback's
 * permit; the timer of its {@link ExchangeTimer}.
 *
 * <p>Concurrency: confined to the event loop of the caller's connection. Everything that happens elsewhere, a permit granted, an answer
 * on a connection of another event loop, hops to it first, and whoever arrives late finds {@code DONE} and gives back what it brings. {@link #callerLeft},
 * {@link #flushed}, {@link #tunnelClosed} and {@link #shutDown} may be called from any thread. There is no lock and no atomic in here.
 */
public final class Exchange extends Account {

    private enum Phase {
        /** Nobody has begun it: it holds nothing, and nobody knows of it. */
        UNBORN,
        NEW,
        QUEUED,
        DISPATCHED,
        RETRYING,
        ANSWERING,
        FLUSHING,
        DONE
    }

    private final ExchangeTimer budget;

    // The roster's.
    @Nullable
    Exchange previous;

    @Nullable
    Exchange next;

    private Phase phase = Phase.UNBORN;
    /** Its caller left, or its door was through with it, before it had begun. */
    private boolean forsaken;

    private @Nullable Admission admission;
    private @Nullable Attempt attempt;
    private @Nullable SlowReaderDetector delivery;
    private long retryAt;
    private @Nullable ActiveFallback standby;

    /**
     * An exchange that has not begun.
     *
     * @param arrivedAt when the request's head was decoded, on the engine's clock
     */
    public Exchange(Engine engine, Route route, Caller caller, long arrivedAt) {
        super(engine, route, caller, arrivedAt);
        this.budget = new ExchangeTimer(this);
    }

    // ---------------------------------------------------------------- towards the backend

    /** Begins. On the exchange's event loop. */
    public void start() {
        phase = Phase.NEW;
        route.usage().began();
        trace = route.observer().began(this);
        Reason closed = engine.began(this);
        if (forsaken) {
            // Told of as any other, and nobody is asked.
            left();
            return;
        }
        if (closed != null) {
            refuse(closed, null);
            return;
        }
        try {
            budget.shorten(caller.headers());
        } catch (IllegalArgumentException e) {
            refuse(Reason.BAD_REQUEST, e.getMessage());
            return;
        }
        if (caller.hasBody()
                && ContentLength.of(caller.headers()) > engine.limits().maxBodyBytes()) {
            refuse(Reason.PAYLOAD_TOO_LARGE, null);
            return;
        }
        enter(backend);
    }

    /** Asks for a permit of a backend's, that of the route or of its fallback. */
    void enter(Backend to) {
        backend = to;
        phase = Phase.NEW;
        Admission asked = new Admission(this, to);
        admission = asked;
        asked.begin(engine.nanoTime());
    }

    /** It waits for a permit. */
    void queued(long now) {
        phase = Phase.QUEUED;
        arm(now);
    }

    /** It has its permit: asks the backend, for the first time or once more. */
    void dispatch(Admission by, long now) {
        Permission permission = backend.breaker().acquire(now);
        if (permission == Permission.REFUSED && by.isRefusedByBreaker()) {
            refuse(Reason.CIRCUIT_OPEN, null);
            return;
        }
        by.asks(now);
        attempts++;
        phase = Phase.DISPATCHED;
        Attempt begun = engine.attempt(this, permission, now);
        attempt = begun;
        begun.begin();
        if (phase == Phase.DISPATCHED) {
            arm(now);
        }
    }

    /**
     * The attempt came to nothing, and another follows.
     *
     * @param backoffNanos the time until then
     * @param why null: for its answer
     */
    void repeat(long backoffNanos, @Nullable Reason why, long now) {
        endAttempt(why, now);
        phase = Phase.RETRYING;
        retryAt = now + backoffNanos;
        arm(now);
    }

    // ---------------------------------------------------------------- towards the caller

    /** The answer goes on to the caller, from here on as it comes. */
    void begun(int code, long now) {
        status = code;
        phase = Phase.ANSWERING;
        delivery = new SlowReaderDetector(caller.channel(), engine.limits().readIdleNanos(), now);
        arm(now);
    }

    /** The backend is through with its answer; the caller may not have it yet. */
    void backendDone(long bytes, long now) {
        answerBytes = bytes;
        attempt = null;
        traceEnded(null, now);
        leaveBackend(now);
        flush(now);
    }

    /** All of the answer is there, and is flushed to the caller. */
    void flush(long now) {
        phase = Phase.FLUSHING;
        SlowReaderDetector begun = delivery;
        if (begun != null) {
            begun.restart(now);
        } else {
            delivery = new SlowReaderDetector(caller.channel(), engine.limits().readIdleNanos(), now);
        }
        arm(now);
    }

    // ---------------------------------------------------------------- what others do

    /** The caller is gone, or its answer could not be written. From any thread. */
    public void callerLeft() {
        if (loop.inEventLoop()) {
            left();
        } else {
            loop.execute(this::left);
        }
    }

    /** The caller is gone. */
    void left() {
        close(Reason.CLIENT_CLOSED, Reason.CLIENT_CLOSED.status().code());
    }

    /**
     * The door is through with the exchange, whatever the engine still waits for: filters took what they wanted of the answer, or failed. On the
     * exchange's event loop.
     *
     * @param why null if the answer is complete as far as the door goes
     */
    public void abandoned(@Nullable Reason why) {
        close(why, why == null ? status : why.status().code());
    }

    /** Nobody waits for an answer any more. */
    private void close(@Nullable Reason why, int code) {
        if (phase == Phase.UNBORN) {
            forsaken = true;
        } else if (phase != Phase.DONE) {
            Attempt current = attempt;
            if (current != null) {
                current.endedByCaller(engine.nanoTime());
            }
            end(why, null, code);
        }
    }

    /** The answer's last byte is flushed to the caller. From any thread. */
    public void flushed() {
        if (loop.inEventLoop()) {
            allFlushed();
        } else {
            loop.execute(this::allFlushed);
        }
    }

    private void allFlushed() {
        if (phase == Phase.FLUSHING) {
            end(reason, detail, status);
        }
    }

    /** Both sides of the tunnel are closed. From any thread. */
    public void tunnelClosed() {
        loop.execute(() -> {
            if (phase != Phase.DONE) {
                end(null, null, status);
            }
        });
    }

    /** Ends it because the gateway stops. From any thread. */
    public void shutDown() {
        loop.execute(() -> {
            if (isUnderWay()) {
                cutShort(Reason.SHUTTING_DOWN, null);
            }
        });
    }

    // ---------------------------------------------------------------- time

    /** Sees to it that it is looked after when the next thing is due. */
    private void arm(long now) {
        long due = budget.dueNanos(now, isBounded());
        Admission asked = admission;
        if (asked != null) {
            due = Math.min(due, asked.dueNanos(now));
        }
        Attempt current = attempt;
        if (current != null) {
            due = Math.min(due, current.dueNanos(now));
        }
        SlowReaderDetector begun = delivery;
        if (begun != null) {
            due = Math.min(due, begun.dueNanos(now));
        }
        if (phase == Phase.RETRYING) {
            due = Math.min(due, retryAt - now);
        }
        budget.arm(now, due);
    }

    /** Something may be due. */
    void timePassed() {
        if (phase == Phase.DONE) {
            return;
        }
        long now = engine.nanoTime();
        if (isBounded() && budget.leftNanos(now) <= 0) {
            expire(now);
            return;
        }
        if (budget.wouldHaveExpired(now) && isBounded()) {
            backend.observer().wouldRefuse(expiryReason(now));
        }
        check(now);
        if (phase != Phase.DONE) {
            arm(now);
        }
    }

    private void check(long now) {
        Admission asked = admission;
        Attempt current = attempt;
        SlowReaderDetector begun = delivery;
        if (begun != null && begun.standsStill(bytesPassed(current), isHeldUp(current), now)) {
            if (current != null) {
                current.endedByCaller(now);
            }
            breakOff(Reason.CLIENT_TOO_SLOW, "the answer is not taken");
        } else if (current != null) {
            current.check(now);
        } else if (phase == Phase.QUEUED && asked != null) {
            asked.check(now);
        } else if (phase == Phase.RETRYING && asked != null && retryAt - now <= 0) {
            dispatch(asked, now);
        }
    }

    /** Whether the deadline spans what it is at: of an answer with an open end, only what comes before it. */
    private boolean isBounded() {
        return !hasOpenEnd() || (phase != Phase.ANSWERING && phase != Phase.FLUSHING);
    }

    /** The deadline has passed. */
    private void expire(long now) {
        Reason why = expiryReason(now);
        Attempt current = attempt;
        if (current != null) {
            if (why == Reason.CLIENT_TOO_SLOW) {
                current.endedByCaller(now);
            } else {
                current.missedDeadline(now);
            }
        }
        switch (phase) {
            case DISPATCHED -> refuse(why, why == Reason.CLIENT_TOO_SLOW ? "the body did not arrive in time" : null);
            case ANSWERING -> breakOff(why, null);
            case FLUSHING -> breakOff(why, "the answer is not taken");
            default -> refuse(why, null);
        }
    }

    /** Whose time a deadline ran out in. */
    private Reason expiryReason(long now) {
        Attempt current = attempt;
        SlowReaderDetector begun = delivery;
        boolean callers =
                switch (phase) {
                    case DISPATCHED -> current != null && current.isHeldUpByUpload(now);
                    case ANSWERING -> begun != null && begun.waitsForCaller(isHeldUp(current));
                    case FLUSHING -> true;
                    default -> false;
                };
        return callers ? Reason.CLIENT_TOO_SLOW : Reason.DEADLINE_EXCEEDED;
    }

    private static boolean isHeldUp(@Nullable Attempt current) {
        return current != null && current.heldUpByCaller();
    }

    private long bytesPassed(@Nullable Attempt current) {
        return current == null ? answerBytes : current.answerBytes();
    }

    // ---------------------------------------------------------------- the end

    /** Ends it before the backend is through: who has no answer yet is told why, who has half of one is reset. */
    void cutShort(Reason why, @Nullable String what) {
        if (phase == Phase.ANSWERING) {
            breakOff(why, what);
        } else {
            refuse(why, what);
        }
    }

    /** The gateway answers by itself, or the fallback does. Nothing has been answered yet. */
    void refuse(Reason why, @Nullable String what) {
        long now = engine.nanoTime();
        endAttempt(why, now);
        leaveBackend(now);
        ActiveFallback before = standby;
        if (before == null) {
            ActiveFallback found = ActiveFallback.take(this, why);
            standby = found;
            if (found != null) {
                found.begin(why, what);
                return;
            }
        }
        Refusal refusal = before != null ? before.insteadOf() : Refusals.of(why, what, backend, engine);
        end(
                refusal.reason(),
                before != null ? detail : what,
                refusal.reason().status().code());
        caller.refuse(refusal);
    }

    /** Breaks off an answer that has begun. */
    void breakOff(Reason why, @Nullable String what) {
        Attempt broken = attempt;
        boolean told = broken != null && broken.tellsCaller(why);
        end(why, what, status);
        if (!told) {
            caller.reset();
        }
    }

    private void end(@Nullable Reason why, @Nullable String what, int code) {
        if (phase == Phase.DONE) {
            throw new IllegalStateException("an exchange ends once");
        }
        long now = engine.nanoTime();
        // First, since the end of a tunnel comes back here by way of the door.
        phase = Phase.DONE;
        endAttempt(why, now);
        leaveBackend(now);
        endedAt = now;
        reason = why;
        detail = what;
        status = code;
        ActiveFallback taken = standby;
        if (taken != null) {
            taken.end();
        }
        budget.end();
        engine.ended(this);
        if (trace != null) {
            trace.ended(this);
        }
        route.observer().ended(this);
        route.usage().ended();
    }

    private void endAttempt(@Nullable Reason why, long now) {
        Attempt current = attempt;
        if (current != null) {
            attempt = null;
            // What had come of an answer that the caller has seen nothing of was for nobody.
            answerBytes = delivery == null ? 0 : current.answerBytes();
            current.end();
            traceEnded(why, now);
        }
    }

    private void traceEnded(@Nullable Reason why, long now) {
        if (trace != null) {
            trace.attemptEnded(why, now);
        }
    }

    private void leaveBackend(long now) {
        Admission held = admission;
        if (held != null) {
            held.end(now);
        }
    }

    // ---------------------------------------------------------------- what it is at

    /** Whether the backend is still asked, or answers. On the exchange's event loop. */
    public boolean isUnderWay() {
        return phase != Phase.FLUSHING && phase != Phase.DONE;
    }

    /** Whether it has ended: what is still written, nobody but the door looks after. On the exchange's event loop. */
    public boolean isOver() {
        return phase == Phase.DONE;
    }

    /** Time with the backend up to now, while it answers. */
    public long backendNanosSoFar() {
        Admission held = admission;
        return held == null ? backendNanos : backendNanos + held.askedNanos(engine.nanoTime());
    }

    ExchangeTimer budget() {
        return budget;
    }
}
