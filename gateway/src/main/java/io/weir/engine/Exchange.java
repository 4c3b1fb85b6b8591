package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketClientHandshakeException;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.bulkhead.QueueingBulkhead;
import io.weir.circuitbreaker.BackendFailure;
import io.weir.circuitbreaker.Breaker.Permission;
import io.weir.deadline.CallerTimeout;
import io.weir.deadline.Deadline;
import io.weir.fallback.Fallback;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.outcome.RetryAfter;
import io.weir.retry.RetryPolicy;
import io.weir.upstream.Failures;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
 * <p>What it holds, and gives back exactly once: its route's permit and its backend's, from admission to the backend's last byte or
 * the end; the breaker's permission, from dispatch to the verdict; a place in the queue; a connection, which its {@link Attempt} owns;
 * its timer.
 *
 * <p>Concurrency: confined to the event loop of the caller's connection. Everything that happens elsewhere, a permit granted, an answer
 * on a connection of another event loop, hops to it first, and whoever arrives late finds {@code DONE} and gives back what it brings. {@link #callerLeft},
 * {@link #flushed} and {@link #shutDown} may be called from any thread. There is no lock and no atomic in here.
 */
public final class Exchange implements Runnable {

    private enum Phase {
        NEW,
        QUEUED,
        DISPATCHED,
        RETRYING,
        ANSWERING,
        FLUSHING,
        DONE
    }

    /** A whole answer is taken before it is passed on if it is no larger: it costs one write, and can still turn into a 504. */
    private static final int WHOLE_ANSWER_MAX_BYTES = 8192;

    private static final long NEVER = Long.MAX_VALUE;

    /** Nothing is held for ever, not even where the deadline only counts. */
    private static final long LONGEST_DEADLINE_NANOS = TimeUnit.MINUTES.toNanos(10);

    private static final Logger log = LoggerFactory.getLogger(Exchange.class);

    private final Engine engine;
    private final Route route;
    private final Caller caller;
    private final EventLoop loop;
    private final boolean stream;
    private final boolean webSocket;
    private final long arrivedAt;

    // The roster's.
    @Nullable
    Exchange previous;

    @Nullable
    Exchange next;

    /** When the deadline would have ended it, if that only counts. */
    private final long wouldExpireAt;

    private Phase phase = Phase.NEW;
    private Deadline deadline;
    private Backend backend;

    private @Nullable Waiting waiting;
    private @Nullable QueueingBulkhead permit;
    private @Nullable BulkheadTrial trial;
    private boolean wouldExpire;
    private boolean wouldBeOpen;
    private boolean routePermit;
    private boolean fallbackPermit;
    private @Nullable Permission permission;
    private boolean overdue;
    private boolean asked;
    private @Nullable Attempt attempt;
    private @Nullable ScheduledFuture<?> timer;
    private long timerDueAt;

    private long queuedAt;
    private long dispatchedAt;
    private long attemptAt;
    private long retryAt;
    private long flushedBytes;
    private long flushedAt;
    private int answerStatus;
    private HttpHeaders answerHeaders = EmptyHttpHeaders.INSTANCE;
    private @Nullable Refusal firstRefusal;

    // What there is to tell when it is over.
    private @Nullable Reason reason;
    private @Nullable String detail;
    private boolean fellBack;
    private @Nullable Reason fallbackReason;
    private int status;
    private int attempts;
    private long queueNanos;
    private long backendNanos;
    private long answerBytes;
    private long endedAt;

    /**
     * An exchange that has not begun.
     *
     * @param arrivedAt when the request's head was decoded, on the engine's clock
     */
    public Exchange(Engine engine, Route route, Caller caller, long arrivedAt) {
        this.engine = engine;
        this.route = route;
        this.caller = caller;
        this.loop = caller.channel().eventLoop();
        this.webSocket = caller.asksForWebSocket();
        this.stream = webSocket || route.mode() == Mode.STREAM;
        this.arrivedAt = arrivedAt;
        this.backend = route.backend();
        this.wouldExpire = !backend.enforcement().deadline();
        this.wouldExpireAt = arrivedAt + route.deadlineNanos();
        this.deadline = Deadline.of(arrivedAt, ownDeadlineNanos(), CallerTimeout.NONE);
    }

    // ---------------------------------------------------------------- admission

    /** Begins. On the exchange's event loop. */
    public void start() {
        route.usage().began();
        Reason closed = engine.began(this);
        if (closed != null) {
            refuse(closed, null);
            return;
        }
        try {
            deadline = Deadline.of(arrivedAt, ownDeadlineNanos(), CallerTimeout.read(caller.headers()));
        } catch (IllegalArgumentException e) {
            refuse(Reason.BAD_REQUEST, e.getMessage());
            return;
        }
        if (declaredTooLarge()) {
            refuse(Reason.PAYLOAD_TOO_LARGE, null);
            return;
        }
        enter(backend);
    }

    private long ownDeadlineNanos() {
        return route.backend().enforcement().deadline() ? route.deadlineNanos() : LONGEST_DEADLINE_NANOS;
    }

    private boolean declaredTooLarge() {
        if (!caller.hasBody()) {
            return false;
        }
        String declared = caller.headers().get(HttpHeaderNames.CONTENT_LENGTH);
        return declared != null && contentLength(declared) > engine.limits().maxBodyBytes();
    }

    /** Asks for a permit of a backend's, that of the route or of its fallback. */
    private void enter(Backend to) {
        backend = to;
        asked = false;
        long now = engine.nanoTime();
        wouldBeOpen = false;
        if (!to.breaker().permits(now) && isRefusedByBreaker(to)) {
            refuse(Reason.CIRCUIT_OPEN, null);
            return;
        }
        if (!takeRoutePermit()) {
            refuse(Reason.BULKHEAD_FULL, "the route is at its limit");
            return;
        }
        QueueingBulkhead bulkhead = stream ? to.streams() : to.bulkhead();
        if (isCountedOnly(to, bulkhead) || bulkhead.tryAcquire()) {
            permit = bulkhead;
            admitted(now);
            return;
        }
        // The route's permit is not held while waiting for the backend's: it would keep the route's other backend idle.
        releaseRoutePermit();
        if (to.maxWaitNanos() <= 0 && !stream) {
            refuse(Reason.BULKHEAD_FULL, null);
            return;
        }
        if (giveUpAt(now) - now <= 0) {
            refuse(Reason.DEADLINE_EXCEEDED, "too little time is left to wait for a permit");
            return;
        }
        Waiting place = new Waiting(bulkhead);
        phase = Phase.QUEUED;
        queuedAt = now;
        waiting = place;
        switch (bulkhead.enter(place)) {
            case GRANTED -> place.run();
            case FULL -> {
                waiting = null;
                phase = Phase.NEW;
                refuse(Reason.BULKHEAD_FULL, null);
            }
            case QUEUED -> arm(now);
        }
    }

    /** Whether the breaker's no is one; if it is only tried out, it is counted, once for each time of asking for a permit. */
    private boolean isRefusedByBreaker(Backend by) {
        if (by.enforcement().circuitBreaker()) {
            return true;
        }
        if (!wouldBeOpen) {
            wouldBeOpen = true;
            by.observer().wouldRefuse(Reason.CIRCUIT_OPEN);
        }
        return false;
    }

    /** Takes a permit in any case, if the bulkhead is only tried out. */
    private boolean isCountedOnly(Backend to, QueueingBulkhead bulkhead) {
        QueueingBulkhead tried = to.enforcement().trial();
        if (tried == null) {
            return false;
        }
        if (!stream) {
            trial = BulkheadTrial.begin(tried, to, loop);
        } else if (bulkhead.tryAcquire()) {
            return true;
        } else {
            to.observer().wouldRefuse(Reason.BULKHEAD_FULL);
        }
        return bulkhead.acquireAnyway();
    }

    /** When a waiter leaves: with less budget left than the backend needs, its permit would be wasted. */
    private long giveUpAt(long now) {
        long need = backend.observer().uncongestedNanos();
        return Math.min(now + (deadline.leftNanos(now) - need), NEVER);
    }

    /** A place in a bulkhead's queue, and the event that it comes up. */
    private final class Waiting extends QueueingBulkhead.Waiter implements Runnable {

        private final QueueingBulkhead bulkhead;

        Waiting(QueueingBulkhead bulkhead) {
            this.bulkhead = bulkhead;
        }

        @Override
        protected void granted() {
            // Always later, even on this event loop: the one who releases is in the middle of its own end.
            try {
                loop.execute(this);
            } catch (RejectedExecutionException e) {
                // The gateway has stopped, and its event loops with it: the permit goes to the next one.
                bulkhead.release();
            }
        }

        @Override
        public void run() {
            if (phase != Phase.QUEUED || waiting != this) {
                bulkhead.release();
                return;
            }
            waiting = null;
            permit = bulkhead;
            long now = engine.nanoTime();
            queueNanos += now - queuedAt;
            if (!takeRoutePermit()) {
                refuse(Reason.BULKHEAD_FULL, "the route is at its limit");
            } else {
                admitted(now);
            }
        }
    }

    private void admitted(long now) {
        long left = deadline.leftNanos(now);
        if (left <= 0) {
            refuse(Reason.DEADLINE_EXCEEDED, null);
            return;
        }
        dispatchedAt = now;
        backend.observer().dispatched(queueNanos, left);
        backend.retryBudget().deposit();
        dispatch(now);
    }

    private void dispatch(long now) {
        Permission taken = backend.breaker().acquire(now);
        if (taken == Permission.REFUSED && isRefusedByBreaker(backend)) {
            refuse(Reason.CIRCUIT_OPEN, null);
            return;
        }
        // A call that the breaker would have refused tells it nothing.
        permission = taken == Permission.REFUSED ? null : taken;
        asked = true;
        attempts++;
        attemptAt = now;
        phase = Phase.DISPATCHED;
        Attempt next = webSocket
                ? new WebSocketAttempt(this, backend, caller, loop)
                : new HttpAttempt(this, backend, caller, loop);
        attempt = next;
        next.start();
        if (phase == Phase.DISPATCHED) {
            arm(now);
        }
    }

    // ---------------------------------------------------------------- the backend's doings

    /** The answer's head came. */
    void headReceived(HttpAttempt from, int code, HttpHeaders headers) {
        long now = engine.nanoTime();
        RetryPolicy retry = route.retry();
        if (retry != null && retry.retries(code) && mayRetry(retry, now)) {
            settleFailed(now, Failure.ofStatus(code));
            from.cancel();
            retryLater(retry, now);
            return;
        }
        answerStatus = code;
        answerHeaders = headers;
        int grpc = grpcStatus(headers);
        if (backend.failureStatuses().get(code)) {
            settleFailed(now, Failure.ofStatus(code));
        } else if (grpc > 0 && backend.failureGrpcStatuses().get(grpc)) {
            settleFailed(now, Failure.ofGrpcStatus(grpc));
        } else if (stream) {
            settleSucceeded(now);
        }
        if (isWhole(code, headers)) {
            from.collect();
            return;
        }
        phase = Phase.ANSWERING;
        status = code;
        flushedAt = now;
        arm(now);
        caller.begin(code, headers, from.relay());
    }

    private boolean isWhole(int code, HttpHeaders headers) {
        if (HttpMethod.HEAD.equals(caller.method())
                || code == HttpResponseStatus.NO_CONTENT.code()
                || code == HttpResponseStatus.NOT_MODIFIED.code()) {
            return true;
        }
        String length = headers.get(HttpHeaderNames.CONTENT_LENGTH);
        if (length == null) {
            return false;
        }
        long bytes = contentLength(length);
        return bytes == 0 || (!stream && bytes >= 0 && bytes <= WHOLE_ANSWER_MAX_BYTES);
    }

    /** The backend has opened a WebSocket. */
    void tunnelOpened(WebSocketAttempt from, @Nullable String subprotocol) {
        long now = engine.nanoTime();
        settleSucceeded(now);
        phase = Phase.ANSWERING;
        status = HttpResponseStatus.SWITCHING_PROTOCOLS.code();
        flushedAt = now;
        arm(now);
        caller.upgrade(subprotocol, from::tunnel);
    }

    /** Both sides of the tunnel are closed. From any thread. */
    public void tunnelClosed() {
        loop.execute(() -> {
            if (phase != Phase.DONE) {
                settleIgnored();
                end(null, null, status);
            }
        });
    }

    /** A small answer is complete. */
    void answeredWhole(HttpAttempt from, ByteBuf body, HttpHeaders trailers) {
        answerBytes = body.readableBytes();
        backendDone(from, trailers);
        status = answerStatus;
        caller.answer(answerStatus, answerHeaders, body);
    }

    /** The answer's last byte came; the caller may not have it yet. */
    void backendDone(HttpAttempt from, HttpHeaders trailers) {
        long now = engine.nanoTime();
        int grpc = grpcStatus(trailers);
        if (grpc > 0 && backend.failureGrpcStatuses().get(grpc)) {
            settleFailed(now, Failure.ofGrpcStatus(grpc));
        } else {
            settleSucceeded(now);
        }
        answerBytes = from.answerBytes();
        attempt = null;
        releasePermits(now);
        phase = Phase.FLUSHING;
        flushedAt = now;
        if (!trailers.isEmpty()) {
            caller.trailers(trailers);
        }
        arm(now);
    }

    /** The backend broke off in the middle of an answer that the caller has seen the beginning of. */
    void backendBroke(HttpAttempt from, Throwable failure) {
        long now = engine.nanoTime();
        answerBytes = from.answerBytes();
        settleFailed(now, Failure.of(Reason.CONNECTION_LOST));
        breakOff(Reason.CONNECTION_LOST, Failures.describe(failure));
    }

    /** The try came to nothing before its answer had begun for the caller. */
    void attemptFailed(Attempt from, Throwable failure) {
        if (failure instanceof WebSocketClientHandshakeException refused && refused.response() != null) {
            answeredWithoutUpgrade(refused.response());
            return;
        }
        attemptFailed(Failures.reason(failure, from.connected()), Failures.describe(failure), failure);
    }

    private void attemptFailed(Reason why, String what, @Nullable Throwable failure) {
        long now = engine.nanoTime();
        if (why == Reason.INTERNAL_ERROR) {
            log.error("Exchange with {} failed in the gateway itself", backend.name(), failure);
            settleIgnored();
        } else {
            settleFailed(now, Failure.of(why));
        }
        RetryPolicy retry = route.retry();
        if (retry != null && why != Reason.INTERNAL_ERROR && mayRetry(retry, now)) {
            cancelAttempt();
            retryLater(retry, now);
        } else {
            refuse(why, what);
        }
    }

    /** The backend answered a WebSocket's handshake with something else: that is its answer. Its body is lost. */
    private void answeredWithoutUpgrade(HttpResponse answer) {
        long now = engine.nanoTime();
        int code = answer.status().code();
        if (backend.failureStatuses().get(code)) {
            settleFailed(now, Failure.ofStatus(code));
        } else {
            settleSucceeded(now);
        }
        cancelAttempt();
        releasePermits(now);
        phase = Phase.FLUSHING;
        flushedAt = now;
        status = code;
        arm(now);
        HttpHeaders headers = new DefaultHttpHeaders().set(answer.headers());
        headers.setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
        caller.answer(code, headers, Unpooled.EMPTY_BUFFER);
    }

    /** The request's body is too large, or the caller broke off while sending it. */
    void uploadFailed(HttpAttempt from, Throwable failure) {
        if (!isUnderWay()) {
            // The answer was complete before the request was.
            return;
        }
        long now = engine.nanoTime();
        if (failure instanceof Relay.TooLarge) {
            settleCallersDoing(now);
            if (phase == Phase.ANSWERING) {
                breakOff(Reason.PAYLOAD_TOO_LARGE, failure.getMessage());
            } else {
                refuse(Reason.PAYLOAD_TOO_LARGE, failure.getMessage());
            }
        } else {
            left(now);
        }
    }

    // ---------------------------------------------------------------- retries

    private boolean mayRetry(RetryPolicy retry, long now) {
        Attempt last = attempt;
        boolean sent = last == null || last.connected();
        if (phase != Phase.DISPATCHED || !retry.allows(attempts, caller.method(), sent, caller.hasBody())) {
            return false;
        }
        if (deadline.leftNanos(now) <= 0) {
            return false;
        }
        boolean allowed = backend.retryBudget().tryWithdraw(now);
        backend.observer().retried(allowed);
        return allowed;
    }

    private void retryLater(RetryPolicy retry, long now) {
        attempt = null;
        phase = Phase.RETRYING;
        retryAt = now + retry.backoffNanos(attempts, engine.random());
        arm(now);
    }

    // ---------------------------------------------------------------- the caller's doings

    /** The caller is gone, or its answer could not be written. From any thread. */
    public void callerLeft() {
        if (loop.inEventLoop()) {
            left(engine.nanoTime());
        } else {
            loop.execute(() -> left(engine.nanoTime()));
        }
    }

    private void left(long now) {
        if (phase == Phase.DONE) {
            return;
        }
        settleCallersDoing(now);
        end(Reason.CLIENT_CLOSED, null, Reason.CLIENT_CLOSED.status().code());
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

    /**
     * The door is through with the exchange, whatever the engine still waits for: filters took what they wanted of the answer, or failed. On the
     * exchange's event loop.
     *
     * @param why null if the answer is complete as far as the door goes
     */
    public void abandoned(@Nullable Reason why) {
        if (phase != Phase.DONE) {
            settleCallersDoing(engine.nanoTime());
            end(why, null, why == null ? answerStatus : why.status().code());
        }
    }

    /** Whether the backend is still asked, or answers. On the exchange's event loop. */
    public boolean isUnderWay() {
        return phase != Phase.FLUSHING && phase != Phase.DONE;
    }

    /** Ends it because the gateway stops. From any thread. */
    public void shutDown() {
        loop.execute(() -> {
            if (phase == Phase.DONE || phase == Phase.FLUSHING) {
                return;
            }
            settleIgnored();
            if (phase == Phase.ANSWERING) {
                breakOff(Reason.SHUTTING_DOWN, null);
            } else {
                refuse(Reason.SHUTTING_DOWN, null);
            }
        });
    }

    // ---------------------------------------------------------------- time

    /** What is left of the budget now. */
    long leftNanos() {
        return deadline.leftNanos(engine.nanoTime());
    }

    /** Sees to it that the timer comes no later than the next thing that is due. */
    private void arm(long now) {
        long dueAt = now + nextDue(now);
        ScheduledFuture<?> running = timer;
        if (running != null) {
            if (timerDueAt - dueAt <= 0) {
                // It comes early enough, and arms itself anew.
                return;
            }
            running.cancel(false);
        }
        timerDueAt = dueAt;
        timer = loop.schedule(this, Math.max(0, dueAt - now), TimeUnit.NANOSECONDS);
    }

    /** Time to the next thing that is due. */
    private long nextDue(long now) {
        long due = stream && (phase == Phase.ANSWERING || phase == Phase.FLUSHING) ? NEVER : deadline.leftNanos(now);
        if (wouldExpire) {
            due = Math.min(due, wouldExpireAt - now);
        }
        switch (phase) {
            case QUEUED -> {
                due = Math.min(due, queuedAt + backend.maxWaitNanos() - now);
                due = Math.min(due, giveUpAt(now) - now);
            }
            case RETRYING -> due = Math.min(due, retryAt - now);
            case DISPATCHED, ANSWERING -> due = Math.min(due, nextDueOfAttempt(now));
            case FLUSHING -> due = Math.min(due, engine.limits().readIdleNanos() - (now - flushedAt));
            default -> {}
        }
        return due;
    }

    private long nextDueOfAttempt(long now) {
        Attempt current = attempt;
        if (current == null) {
            return NEVER;
        }
        long due = NEVER;
        if (!overdue && permission != null) {
            due = backend.breaker().slowNanos() - backendNanos(now);
        }
        if (phase == Phase.DISPATCHED) {
            if (!current.connected()) {
                due = Math.min(due, attemptAt + backend.connectTimeoutNanos() - now);
            }
            due = Math.min(due, attemptTimeoutLeft(now));
            if (current.waitsForUpload()) {
                due = Math.min(due, engine.limits().bodyIdleNanos() - (now - current.lastMovedNanos()));
            }
        } else {
            due = Math.min(due, engine.limits().readIdleNanos() - (now - flushedAt));
            if (stream) {
                due = Math.min(due, backend.streamIdleNanos() - (now - lastMoved(current)));
            }
        }
        return due;
    }

    private long attemptTimeoutLeft(long now) {
        RetryPolicy retry = route.retry();
        return retry == null || retry.attemptTimeoutNanos() == NEVER
                ? NEVER
                : attemptAt + retry.attemptTimeoutNanos() - now;
    }

    /** Something may be due. */
    @Override
    public void run() {
        timer = null;
        if (phase == Phase.DONE) {
            return;
        }
        long now = engine.nanoTime();
        boolean bounded = !stream || (phase != Phase.ANSWERING && phase != Phase.FLUSHING);
        if (bounded && deadline.leftNanos(now) <= 0) {
            deadlineExpired(now);
            return;
        }
        if (wouldExpire && wouldExpireAt - now <= 0) {
            wouldExpire = false;
            if (bounded) {
                backend.observer().wouldRefuse(expiryReason(now));
            }
        }
        switch (phase) {
            case QUEUED -> waitedEnough(now);
            case RETRYING -> {
                if (retryAt - now <= 0) {
                    dispatch(now);
                }
            }
            case DISPATCHED -> checkAttempt(now);
            case ANSWERING, FLUSHING -> checkAnswer(now);
            default -> {}
        }
        if (phase != Phase.DONE && timer == null) {
            arm(now);
        }
    }

    private void waitedEnough(long now) {
        if (giveUpAt(now) - now <= 0) {
            leaveQueue(Reason.DEADLINE_EXCEEDED, "too little time is left to wait for a permit");
        } else if (queuedAt + backend.maxWaitNanos() - now <= 0) {
            leaveQueue(Reason.QUEUE_TIMEOUT, null);
        }
    }

    private void leaveQueue(Reason why, @Nullable String what) {
        Waiting place = waiting;
        if (place != null && place.leave()) {
            waiting = null;
            refuse(why, what);
        }
        // Else the permit is on its way here: then it is used.
    }

    private void checkAttempt(long now) {
        Attempt current = attempt;
        if (current == null) {
            return;
        }
        if (!current.connected() && attemptAt + backend.connectTimeoutNanos() - now <= 0) {
            attemptFailed(Reason.CONNECT_TIMEOUT, "no connection in time", null);
        } else if (attemptTimeoutLeft(now) <= 0) {
            attemptFailed(Reason.DEADLINE_EXCEEDED, "no answer within the attempt's time", null);
        } else if (current.waitsForUpload()
                && now - current.lastMovedNanos() >= engine.limits().bodyIdleNanos()) {
            settleCallersDoing(now);
            refuse(Reason.CLIENT_TOO_SLOW, "the body stands still");
        } else {
            checkOverdue(now);
        }
    }

    private void checkAnswer(long now) {
        Attempt current = attempt;
        long gone = bytesPassed() - pendingBytes();
        boolean pending = pendingBytes() > 0 || (current != null && current.heldUpByCaller());
        if (!pending || gone != flushedBytes) {
            flushedBytes = gone;
            flushedAt = now;
        } else if (now - flushedAt >= engine.limits().readIdleNanos()) {
            settleCallersDoing(now);
            breakOff(Reason.CLIENT_TOO_SLOW, "the answer is not taken");
            return;
        }
        if (current == null) {
            return;
        }
        if (stream && now - lastMoved(current) >= backend.streamIdleNanos()) {
            settleIgnored();
            breakOff(Reason.DEADLINE_EXCEEDED, "the stream stands still");
            return;
        }
        checkOverdue(now);
    }

    private long lastMoved(Attempt current) {
        long moved = current.lastMovedNanos();
        return moved == Long.MIN_VALUE ? attemptAt : moved;
    }

    /** A call that is slow already is counted while it is under way: a hang shows at the threshold, not at the deadline. */
    private void checkOverdue(long now) {
        if (!overdue
                && permission == Permission.CALL
                && backendNanos(now) >= backend.breaker().slowNanos()) {
            overdue = true;
            backend.breaker().overdueBegan();
        } else if (permission == Permission.PROBE) {
            overdue = true;
        }
    }

    private void deadlineExpired(long now) {
        switch (phase) {
            case QUEUED -> {
                Waiting place = waiting;
                waiting = null;
                if (place != null) {
                    // If a permit is on its way here, its arrival finds nobody waiting and gives it back.
                    place.leave();
                }
                refuse(Reason.DEADLINE_EXCEEDED, null);
            }
            case DISPATCHED -> {
                if (expiryReason(now) == Reason.CLIENT_TOO_SLOW) {
                    settleIgnored();
                    refuse(Reason.CLIENT_TOO_SLOW, "the body did not arrive in time");
                } else {
                    settleDeadline(now);
                    refuse(Reason.DEADLINE_EXCEEDED, null);
                }
            }
            case ANSWERING -> {
                Reason why = expiryReason(now);
                if (why == Reason.CLIENT_TOO_SLOW) {
                    settleCallersDoing(now);
                } else {
                    settleDeadline(now);
                }
                breakOff(why, null);
            }
            case FLUSHING -> breakOff(Reason.CLIENT_TOO_SLOW, "the answer is not taken");
            default -> refuse(Reason.DEADLINE_EXCEEDED, null);
        }
    }

    /** Whose time a deadline ran out in. */
    private Reason expiryReason(long now) {
        Attempt current = attempt;
        boolean callers =
                switch (phase) {
                    case DISPATCHED -> current != null && current.waitsForUpload() && !countsAgainstBackend(now);
                    case ANSWERING -> pendingBytes() > 0 || (current != null && current.heldUpByCaller());
                    case FLUSHING -> true;
                    default -> false;
                };
        return callers ? Reason.CLIENT_TOO_SLOW : Reason.DEADLINE_EXCEEDED;
    }

    // ---------------------------------------------------------------- the breaker

    /** The backend's own time in this attempt: without what the caller took to bring the request or to take the answer. */
    private long backendNanos(long now) {
        Attempt current = attempt;
        return now - attemptAt - (current == null ? 0 : current.callerNanos(now));
    }

    /** Whether the backend had enough time of its own for a missed deadline to speak against it. */
    private boolean countsAgainstBackend(long now) {
        long enough = backend.breaker().slowNanos();
        if (!deadline.shortenedByCaller()) {
            enough = Math.min(enough, route.deadlineNanos() / 2);
        }
        return backendNanos(now) >= enough;
    }

    private void settleDeadline(long now) {
        if (countsAgainstBackend(now)) {
            settleFailed(now, Failure.of(Reason.DEADLINE_EXCEEDED));
        } else {
            settleIgnored();
        }
    }

    /** The caller ended it: that counts as a slow call if it was one already, and otherwise as nothing. */
    private void settleCallersDoing(long now) {
        if (permission != null && backendNanos(now) >= backend.breaker().slowNanos()) {
            settleSucceeded(now);
        } else {
            settleIgnored();
        }
    }

    private void settleSucceeded(long now) {
        Permission held = takePermission();
        if (held != null) {
            backend.breaker().succeeded(held, backendNanos(now));
        }
    }

    private void settleFailed(long now, BackendFailure failure) {
        Permission held = takePermission();
        if (held != null) {
            backend.breaker().failed(held, backendNanos(now), failure);
        }
    }

    private void settleIgnored() {
        Permission held = takePermission();
        if (held != null) {
            backend.breaker().ignored(held);
        }
    }

    private @Nullable Permission takePermission() {
        Permission held = permission;
        permission = null;
        if (held == Permission.CALL && overdue) {
            backend.breaker().overdueEnded();
        }
        overdue = false;
        return held;
    }

    // ---------------------------------------------------------------- the end

    /** The gateway answers by itself, or the fallback does. Nothing has been answered yet. */
    private void refuse(Reason why, @Nullable String what) {
        long now = engine.nanoTime();
        settleIgnored();
        cancelAttempt();
        releasePermits(now);
        countWait(now);
        Refusal first = firstRefusal;
        Fallback fallback = route.fallback();
        if (first == null
                && fallback != null
                && fallback.covers(why)
                && fallback.limit().tryAcquire()) {
            fallbackPermit = true;
            fallBack(fallback, why, what);
            return;
        }
        Refusal refusal = first != null ? first : refusal(why, what);
        end(
                refusal.reason(),
                first != null ? detail : what,
                refusal.reason().status().code());
        caller.refuse(refusal);
    }

    private void fallBack(Fallback fallback, Reason why, @Nullable String what) {
        Backend other = route.fallbackBackend();
        if (fallback.isStatic() || other == null) {
            fellBack = true;
            fallbackReason = why;
            reason = why;
            detail = what;
            status = fallback.status();
            byte[] body = fallback.body();
            answerBytes = body.length;
            phase = Phase.FLUSHING;
            flushedAt = engine.nanoTime();
            // It may be given because the deadline has passed; then it has the time that any caller has to take an
            // answer.
            deadline = new Deadline(flushedAt + engine.limits().readIdleNanos(), false);
            arm(flushedAt);
            caller.answer(fallback.status(), fallback.headers(), Unpooled.wrappedBuffer(body));
            return;
        }
        firstRefusal = refusal(why, what);
        detail = what;
        if (deadline.leftNanos(engine.nanoTime()) <= 0 || (caller.hasBody() && attempts > 0)) {
            refuse(why, what);
            return;
        }
        fellBack = true;
        fallbackReason = why;
        enter(other);
    }

    private Refusal refusal(Reason why, @Nullable String what) {
        if (!why.isShedding()) {
            return Refusal.of(why, isAboutBackend(why) ? null : what);
        }
        return new Refusal(why, what, RetryAfter.millis(expectedNanos(why), engine.random()));
    }

    /** Whether what exactly happened is for the log only: it may name addresses that are nobody's business. */
    private static boolean isAboutBackend(Reason why) {
        return switch (why) {
            case CONNECT_FAILED, CONNECT_TIMEOUT, CONNECTION_LOST, INTERNAL_ERROR -> true;
            default -> false;
        };
    }

    /** When it is expected to be worth while to try again. */
    private long expectedNanos(Reason why) {
        return switch (why) {
            case CIRCUIT_OPEN -> backend.breaker().nanosToNextProbe();
            case BULKHEAD_FULL, QUEUE_TIMEOUT -> {
                QueueingBulkhead bulkhead = backend.bulkhead();
                // The time in which the backend works off those who wait, each permit serving one after the other.
                long service = backend.observer().uncongestedNanos();
                yield service * (bulkhead.queued() + 1) / bulkhead.maxConcurrentCalls();
            }
            default -> 0;
        };
    }

    /** Breaks off an answer that has begun. */
    private void breakOff(Reason why, @Nullable String what) {
        settleIgnored();
        if (attempt instanceof WebSocketAttempt tunnel) {
            // It ends with a close frame on both sides.
            tunnel.closeWith(closeStatus(why));
            end(why, what, status);
            return;
        }
        cancelAttempt();
        end(why, what, status);
        caller.reset();
    }

    private static WebSocketCloseStatus closeStatus(Reason why) {
        return why == Reason.SHUTTING_DOWN
                ? WebSocketCloseStatus.ENDPOINT_UNAVAILABLE
                : new WebSocketCloseStatus(WebSocketCloseStatus.POLICY_VIOLATION.code(), why.word());
    }

    /** A wait that brought no permit counts too. */
    private void countWait(long now) {
        if (phase == Phase.QUEUED) {
            queueNanos += now - queuedAt;
            phase = Phase.NEW;
        }
    }

    private void cancelAttempt() {
        Attempt current = attempt;
        attempt = null;
        if (current != null) {
            answerBytes = current.answerBytes();
            current.cancel();
        }
    }

    private void end(@Nullable Reason why, @Nullable String what, int code) {
        if (phase == Phase.DONE) {
            throw new IllegalStateException("an exchange ends once");
        }
        Waiting place = waiting;
        waiting = null;
        if (place != null) {
            place.leave();
        }
        cancelAttempt();
        long now = engine.nanoTime();
        countWait(now);
        phase = Phase.DONE;
        endedAt = now;
        reason = why;
        detail = what;
        status = code;
        releasePermits(now);
        if (fallbackPermit) {
            fallbackPermit = false;
            Fallback fallback = route.fallback();
            if (fallback != null) {
                fallback.limit().release();
            }
        }
        ScheduledFuture<?> running = timer;
        if (running != null) {
            timer = null;
            running.cancel(false);
        }
        engine.ended(this);
        route.observer().ended(this);
        route.usage().ended();
    }

    // ---------------------------------------------------------------- permits

    private boolean takeRoutePermit() {
        QueueingBulkhead limit = route.limit();
        if (limit == null || fellBack) {
            return true;
        }
        routePermit = limit.tryAcquire();
        return routePermit;
    }

    private void releaseRoutePermit() {
        QueueingBulkhead limit = route.limit();
        if (routePermit && limit != null) {
            routePermit = false;
            limit.release();
        }
    }

    private void releasePermits(long now) {
        releaseRoutePermit();
        BulkheadTrial tried = trial;
        if (tried != null) {
            trial = null;
            tried.end();
        }
        QueueingBulkhead held = permit;
        if (held != null) {
            permit = null;
            if (asked) {
                backendNanos += now - dispatchedAt;
                if (!stream) {
                    backend.observer().served(now - dispatchedAt);
                }
            }
            held.release();
        }
    }

    // ---------------------------------------------------------------- bytes

    private long bytesPassed() {
        Attempt current = attempt;
        return current == null ? answerBytes : current.answerBytes();
    }

    /** Bytes written and not yet flushed to the caller. */
    private long pendingBytes() {
        Channel channel = caller.channel();
        ChannelOutboundBuffer buffer = channel.unsafe().outboundBuffer();
        if (buffer != null) {
            return buffer.totalPendingWriteBytes();
        }
        // An HTTP/2 stream has none; it tells only whether it takes more.
        return channel.isWritable() ? 0 : 1;
    }

    private static long contentLength(String value) {
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    private static int grpcStatus(HttpHeaders headers) {
        String value = headers.isEmpty() ? null : headers.get("grpc-status");
        return value == null ? 0 : (int) contentLength(value);
    }

    // ---------------------------------------------------------------- what there is to tell

    Engine engine() {
        return engine;
    }

    /** Whether it is a stream or a WebSocket. */
    boolean isStream() {
        return stream;
    }

    /** Its route. */
    public Route route() {
        return route;
    }

    /** The backend that was asked last. */
    public Backend backend() {
        return backend;
    }

    /** Its caller. */
    public Caller caller() {
        return caller;
    }

    /** Why the gateway answered by itself, or fell back; null: the backend's answer was passed on. */
    public @Nullable Reason reason() {
        return reason;
    }

    /** What exactly; null where there is nothing to add. */
    public @Nullable String detail() {
        return detail;
    }

    /** Whether the fallback answered. */
    public boolean fellBack() {
        return fellBack;
    }

    /** What the fallback was given instead of; null if it was not. */
    public @Nullable Reason fallbackReason() {
        return fallbackReason;
    }

    /** The status that the caller was answered with; 499 if it left before. */
    public int status() {
        return status;
    }

    /** Attempts made. */
    public int attempts() {
        return attempts;
    }

    /** When the request's head was decoded, on the engine's clock. */
    public long arrivedAtNanos() {
        return arrivedAt;
    }

    /** Time in queues. */
    public long queueNanos() {
        return queueNanos;
    }

    /** Time with backends, attempts and the waits between them. */
    public long backendNanos() {
        return backendNanos;
    }

    /** Time with the backend up to now, while it answers. */
    public long backendNanosSoFar() {
        return asked && permit != null ? backendNanos + engine.nanoTime() - dispatchedAt : backendNanos;
    }

    /** Time in all, from the decoded head to the end. */
    public long totalNanos() {
        return endedAt - arrivedAt;
    }

    /** Bytes of the answer's body. */
    public long answerBytes() {
        return answerBytes;
    }
}
