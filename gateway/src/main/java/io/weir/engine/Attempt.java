package io.weir.engine;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.weir.deadline.CallerTimeout;
import io.weir.health.BackendFailure;
import io.weir.health.Breaker.Permission;
import io.weir.instance.Failures;
import io.weir.outcome.Reason;
import io.weir.retry.RetryPolicy;
import java.net.ProtocolException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.netty.http.websocket.WebsocketInbound;
import reactor.netty.http.websocket.WebsocketOutbound;

/**
 * One try of an exchange at its backend: what the backend does, and what follows from it. Each of its doings is judged first, for the
 * breaker, and then goes to the exchange: on to the caller, into another try, or into a refusal.
 *
 * <p>How the backend is asked is its subclasses' business. Everything is called on the exchange's event loop.
 */
abstract class Attempt {

    /** Makes the attempts of an engine's exchanges. */
    interface Maker {

        /**
         * An attempt that has not {@linkplain #start() started}.
         *
         * @param permission the breaker's, which it gives back
         */
        Attempt make(Exchange exchange, Permission permission, long now);
    }

    /** A whole answer is taken before it is passed on if it is no larger: it costs one write, and can still turn into a 504. */
    private static final int WHOLE_ANSWER_MAX_BYTES = 8192;

    private static final int LAST_STATUS = 999;
    private static final long NEVER = Long.MAX_VALUE;
    private static final long NO_REPEAT = -1;
    private static final int NOT_WHOLE = -1;

    /** How often, at the most, it is seen whether the caller still holds up the backend's time. */
    private static final long STANDING_STILL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private static final Logger log = LoggerFactory.getLogger(Attempt.class);

    final Exchange exchange;
    final Backend backend;

    private final Verdict verdict;
    private final long startedAt;
    private boolean answering;
    private int status;
    private HttpHeaders head = EmptyHttpHeaders.INSTANCE;
    /** Written before the attempt is under way, and so before a connection's event loop reads it. */
    private @Nullable Consumer<HttpHeaders> context;

    /** What is written to the backend could not be made up: the backend has no part in that. */
    private volatile boolean ownFailure;

    Attempt(Exchange exchange, Permission permission, long now) {
        this.exchange = exchange;
        this.backend = exchange.backend();
        this.verdict = new Verdict(backend.breaker(), permission);
        this.startedAt = now;
    }

    /** An attempt over the network, as the caller asks for. */
    static Attempt overNetwork(Exchange exchange, Permission permission, long now) {
        return exchange.isWebSocket()
                ? new WebSocketAttempt(exchange, permission, now)
                : new HttpAttempt(exchange, permission, now);
    }

    // ---------------------------------------------------------------- how the backend is asked

    /** Asks for a connection. */
    abstract void start();

    /**
     * Takes the whole of the answer's body, which is small or empty: {@link #answeredWhole} follows.
     *
     * @param maxBytes bytes that it can have; what comes beyond them is no part of it
     */
    void collect(int maxBytes) {
        throw new IllegalStateException("no answer has begun");
    }

    /** The answer's body as it comes; {@link #complete} follows. */
    Publisher<ByteBuf> relay() {
        throw new IllegalStateException("no answer has begun");
    }

    /**
     * Takes note of what an answer that has begun is broken off for, before it is cancelled.
     *
     * @return whether the end of it will tell the caller, too
     */
    boolean tellsCaller(Reason why) {
        return false;
    }

    /**
     * Ends it, whatever it is at: nothing more is told to the exchange, and its connection is closed, or given back if
     * the answer was complete.
     */
    abstract void cancel();

    /** Whether there is a connection, so that the backend may have seen something of the request. */
    abstract boolean connected();

    /**
     * Sees to it that nothing of the request is sent any more, if nothing has been: the connection may come at this moment, on an event loop of its own.
     *
     * @return whether the backend has not seen, and will not see, anything of it
     */
    abstract boolean withdraw();

    /** The caller's time in it up to a moment: spent on bringing the request's body, and on taking the answer's. */
    abstract long callerNanos(long now);

    /** Whether the caller is waited for, to bring more of the request's body. */
    abstract boolean waitsForUpload();

    /** Since when nothing has moved, in either direction; {@link Long#MIN_VALUE} if nothing ever has. */
    abstract long lastMovedNanos();

    /** Bytes of the answer's body that have come in. */
    abstract long answerBytes();

    /** Whether the caller holds the answer up. */
    abstract boolean heldUpByCaller();

    /** The path and query to ask for, of which the trace is told. */
    final String target() {
        Caller caller = exchange.caller();
        String target = caller.target();
        ExchangeTrace trace = exchange.trace();
        if (trace != null) {
            context = trace.attempted(backend, caller.method().name(), target, startedAt);
        }
        return target;
    }

    /** The head that goes to the backend. */
    final void writeHead(HttpHeaders toBackend) {
        try {
            exchange.caller().writeHead(toBackend, backend);
            CallerTimeout.write(toBackend, Math.max(1, exchange.budget().leftNanos(exchange.now())));
            if (context != null) {
                context.accept(toBackend);
            }
        } catch (RuntimeException e) {
            ownFailure = true;
            throw e;
        }
    }

    /** Asks, and fails if not even that works, such as with a route's filter that does not fit this request. */
    final void begin() {
        try {
            start();
        } catch (RuntimeException e) {
            ownFailure = true;
            failed(e);
        }
    }

    // ---------------------------------------------------------------- what the backend does

    /** The answer's head came. */
    final void headReceived(int code, HttpHeaders headers) {
        if (code < HttpResponseStatus.OK.code() || code > LAST_STATUS) {
            // A 101 among them, which nobody has asked for: passed on, it would make the caller's connection something
            // else.
            failed(new ProtocolException("status " + code + " (expected: a final one of three digits)"));
            return;
        }
        long now = exchange.now();
        traceAnswered(code);
        BackendFailure failure = Failure.ofHead(backend, code, headers);
        RetryPolicy retry = exchange.route().retry();
        long backoff = retry != null && retry.retries(code) ? backoffToRepeat(retry, now) : NO_REPEAT;
        if (backoff != NO_REPEAT) {
            judge(failure, now);
            exchange.repeat(backoff, null, now);
            return;
        }
        status = code;
        head = headers;
        if (failure != null || exchange.hasOpenEnd()) {
            judge(failure, now);
        }
        int whole = wholeBytes(code, headers);
        if (whole != NOT_WHOLE) {
            exchange.status = code;
            collect(whole);
        } else {
            answering = true;
            exchange.begun(code, now);
            exchange.caller().begin(code, headers, relay());
        }
    }

    /** The bytes of a body that is taken whole. An answer that can have none may come with one all the same, over HTTP/2: nobody is passed that. */
    private int wholeBytes(int code, HttpHeaders headers) {
        if (HttpMethod.HEAD.equals(exchange.caller().method())
                || code == HttpResponseStatus.NO_CONTENT.code()
                || code == HttpResponseStatus.NOT_MODIFIED.code()) {
            return 0;
        }
        long bytes = ContentLength.of(headers);
        boolean small = bytes == 0 || (!exchange.hasOpenEnd() && bytes > 0 && bytes <= WHOLE_ANSWER_MAX_BYTES);
        return small ? (int) bytes : NOT_WHOLE;
    }

    /** A small answer is complete. */
    final void answeredWhole(ByteBuf body, HttpHeaders trailers) {
        complete(trailers);
        exchange.caller().answer(status, head, body);
    }

    /** The answer's last byte came; the caller may not have it yet. */
    final void complete(HttpHeaders trailers) {
        long now = exchange.now();
        judge(Failure.ofGrpcStatus(backend, trailers), now);
        exchange.backendDone(answerBytes(), now);
        if (!trailers.isEmpty()) {
            exchange.caller().trailers(trailers);
        }
    }

    /** The backend broke off in the middle of an answer that the caller has seen the beginning of. */
    final void broke(Throwable failure) {
        verdict.failed(backendNanos(exchange.now()), Failure.of(Reason.CONNECTION_LOST));
        exchange.breakOff(Reason.CONNECTION_LOST, Failures.describe(failure));
    }

    /** It came to nothing before its answer had begun for the caller. */
    final void failed(Throwable failure) {
        Reason why = ownFailure ? Reason.INTERNAL_ERROR : Failures.reason(failure, connected());
        failed(why, Failures.describe(failure), failure);
    }

    private void failed(Reason why, String what, @Nullable Throwable failure) {
        long now = exchange.now();
        if (why == Reason.INTERNAL_ERROR) {
            log.error("Exchange with {} failed in the gateway itself", backend.name(), failure);
        } else {
            verdict.failed(backendNanos(now), Failure.of(why));
        }
        RetryPolicy retry = exchange.route().retry();
        long backoff = retry != null && why != Reason.INTERNAL_ERROR ? backoffToRepeat(retry, now) : NO_REPEAT;
        if (backoff != NO_REPEAT) {
            exchange.repeat(backoff, why, now);
        } else {
            exchange.refuse(why, what);
        }
    }

    /**
     * How long to wait for the next one, which is taken from the retry budget; {@link #NO_REPEAT}: none may follow. There is none which the deadline would not let begin: of what
     * is known already the caller is told now.
     */
    private long backoffToRepeat(RetryPolicy retry, long now) {
        Caller caller = exchange.caller();
        if (answering || !retry.allows(exchange.attempts(), caller.method(), !withdraw(), caller.hasBody())) {
            return NO_REPEAT;
        }
        long backoff = retry.backoffNanos(exchange.attempts(), exchange.engine().random());
        if (exchange.budget().leftNanos(now) <= backoff) {
            return NO_REPEAT;
        }
        boolean allowed = backend.retryBudget().tryWithdraw(now);
        backend.observer().retried(allowed);
        return allowed ? backoff : NO_REPEAT;
    }

    /** The backend has opened a WebSocket. */
    final void tunnelOpened(
            @Nullable String subprotocol, BiFunction<WebsocketInbound, WebsocketOutbound, Publisher<Void>> tunnel) {
        long now = exchange.now();
        traceAnswered(HttpResponseStatus.SWITCHING_PROTOCOLS.code());
        verdict.succeeded(backendNanos(now));
        answering = true;
        exchange.tunnel = true;
        exchange.begun(HttpResponseStatus.SWITCHING_PROTOCOLS.code(), now);
        exchange.caller().upgrade(subprotocol, tunnel);
    }

    /** The backend answered a WebSocket's handshake over HTTP/2 with something else: that is its answer. Its body is lost. */
    final void answeredWithoutUpgrade(HttpResponse answer) {
        long now = exchange.now();
        int code = answer.status().code();
        traceAnswered(code);
        judge(backend.settings().failureStatuses().get(code) ? Failure.ofStatus(code) : null, now);
        cancel();
        exchange.status = code;
        exchange.backendDone(answerBytes(), now);
        HttpHeaders headers = new DefaultHttpHeaders().set(answer.headers());
        headers.setInt(HttpHeaderNames.CONTENT_LENGTH, 0);
        exchange.caller().answer(code, headers, Unpooled.EMPTY_BUFFER);
    }

    private void traceAnswered(int code) {
        ExchangeTrace trace = exchange.trace();
        if (trace != null) {
            trace.answered(code);
        }
    }

    /** The request's body is too large, or the caller broke off while sending it. */
    final void uploadFailed(Throwable failure) {
        if (!exchange.isUnderWay()) {
            // The answer was complete before the request was.
            return;
        }
        if (failure instanceof Relay.TooLarge) {
            verdict.endedByCaller(backendNanos(exchange.now()));
            exchange.cutShort(Reason.PAYLOAD_TOO_LARGE, failure.getMessage());
        } else {
            exchange.left();
        }
    }

    // ---------------------------------------------------------------- its time

    /** Time to the next thing that is due. */
    final long dueNanos(long now) {
        long due = backendDueNanos(now);
        if (answering) {
            return exchange.hasOpenEnd() ? Math.min(due, backend.settings().streamIdleNanos() - stoodStillNanos(now)) : due;
        }
        if (!connected()) {
            due = Math.min(due, startedAt + backend.settings().connectTimeoutNanos() - now);
        }
        if (waitsForUpload()) {
            due = Math.min(due, exchange.engine().limits().bodyIdleNanos() - (now - lastMovedNanos()));
        }
        return due;
    }

    /** Of what counts the backend's own time, which stands still while the caller is waited for: until it goes on, it is not looked at all the time. */
    private long backendDueNanos(long now) {
        long backendNanos = backendNanos(now);
        long due = verdict.nanosToWatch(backendNanos);
        if (!answering) {
            due = Math.min(due, answerTimeLeft(backendNanos));
        }
        return waitsForUpload() || heldUpByCaller() ? Math.max(due, STANDING_STILL_NANOS) : due;
    }

    /** Something may be due. */
    final void check(long now) {
        if (answering) {
            if (exchange.hasOpenEnd() && stoodStillNanos(now) >= backend.settings().streamIdleNanos()) {
                exchange.breakOff(Reason.DEADLINE_EXCEEDED, "the stream stands still");
                return;
            }
        } else if (!connected() && startedAt + backend.settings().connectTimeoutNanos() - now <= 0) {
            failed(Reason.CONNECT_TIMEOUT, "no connection in time", null);
            return;
        } else if (answerTimeLeft(backendNanos(now)) <= 0) {
            failed(Reason.DEADLINE_EXCEEDED, "no answer within the attempt's time", null);
            return;
        } else if (waitsForUpload()
                && now - lastMovedNanos() >= exchange.engine().limits().bodyIdleNanos()) {
            endedByCaller(now);
            exchange.refuse(Reason.CLIENT_TOO_SLOW, "the body stands still");
            return;
        }
        verdict.watch(backendNanos(now));
    }

    private long stoodStillNanos(long now) {
        long moved = lastMovedNanos();
        return now - (moved == Long.MIN_VALUE ? startedAt : moved);
    }

    private long answerTimeLeft(long backendNanos) {
        RetryPolicy retry = exchange.route().retry();
        return retry == null || retry.attemptTimeoutNanos() == NEVER
                ? NEVER
                : retry.attemptTimeoutNanos() - backendNanos;
    }

    // ---------------------------------------------------------------- what it says about the backend

    /** Whether it is the caller's doing if the deadline passes now, before the answer has begun. */
    final boolean isHeldUpByUpload(long now) {
        return waitsForUpload() && !hadEnough(now);
    }

    /** The deadline has passed in the backend's time. */
    final void missedDeadline(long now) {
        if (hadEnough(now)) {
            verdict.failed(backendNanos(now), Failure.of(Reason.DEADLINE_EXCEEDED));
        }
    }

    /** The caller ends it, or is too slow for it. */
    final void endedByCaller(long now) {
        verdict.endedByCaller(backendNanos(now));
    }

    /** Ends it, whatever it is at. If it has not been judged, it says nothing. */
    final void end() {
        verdict.ignored();
        cancel();
    }

    private void judge(@Nullable BackendFailure failure, long now) {
        if (failure != null) {
            verdict.failed(backendNanos(now), failure);
        } else {
            verdict.succeeded(backendNanos(now));
        }
    }

    private boolean hadEnough(long now) {
        return verdict.hadEnough(
                backendNanos(now),
                exchange.budget().deadline(),
                exchange.route().deadlineNanos());
    }

    /** The backend's own time in it: none where the caller holds up both directions at once. */
    private long backendNanos(long now) {
        return Math.max(0, now - startedAt - callerNanos(now));
    }
}
