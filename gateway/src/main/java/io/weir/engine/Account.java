package io.weir.engine;

import io.netty.channel.EventLoop;
import io.weir.outcome.Reason;
import org.jspecify.annotations.Nullable;

/**
 * What there is to tell of an exchange: what it is, and what becomes of it, filled in as it goes and final when its route's observer is told that it is
 * over.
 *
 * <p>Its exchange's other half, and not an object beside it, since every request has one.
 */
public abstract sealed class Account permits Exchange {

    final Engine engine;
    final Route route;
    final Caller caller;
    final EventLoop loop;
    final boolean webSocket;
    final boolean stream;
    final long arrivedAt;

    Backend backend;

    @Nullable
    ExchangeTrace trace;

    @Nullable
    Reason reason;

    @Nullable
    String detail;

    boolean tunnel;
    boolean fellBack;

    @Nullable
    Reason fallbackReason;

    int status;
    int attempts;
    long queueNanos;
    long backendNanos;
    long answerBytes;
    long endedAt;

    Account(Engine engine, Route route, Caller caller, long arrivedAt) {
        this.engine = engine;
        this.route = route;
        this.caller = caller;
        this.loop = caller.channel().eventLoop();
        this.webSocket = caller.asksForWebSocket();
        this.stream = webSocket || route.mode() == Mode.STREAM;
        this.arrivedAt = arrivedAt;
        this.backend = route.backend();
    }

    /** Its route. */
    public final Route route() {
        return route;
    }

    /** The backend that was asked last. */
    public final Backend backend() {
        return backend;
    }

    /** Its caller. */
    public final Caller caller() {
        return caller;
    }

    /** Who is told of its steps; null: nobody. */
    public final @Nullable ExchangeTrace trace() {
        return trace;
    }

    final Engine engine() {
        return engine;
    }

    final long now() {
        return engine.nanoTime();
    }

    final EventLoop loop() {
        return loop;
    }

    final boolean isWebSocket() {
        return webSocket;
    }

    /** Whether it counts as a stream: it is one, or asks for a WebSocket. */
    final boolean isStream() {
        return stream;
    }

    /** Whether its answer may go on for as long as it moves: a stream's, or an open WebSocket, but not the answer that refuses one. */
    final boolean hasOpenEnd() {
        return tunnel || route.mode() == Mode.STREAM;
    }

    /** Why the gateway answered by itself, or fell back; null: the backend's answer was passed on. */
    public final @Nullable Reason reason() {
        return reason;
    }

    /** What exactly; null where there is nothing to add. */
    public final @Nullable String detail() {
        return detail;
    }

    /** Whether the fallback answered. */
    public final boolean fellBack() {
        return fellBack;
    }

    /** What the fallback was given instead of; null if it was not. */
    public final @Nullable Reason fallbackReason() {
        return fallbackReason;
    }

    /** The status that the caller was answered with; 499 if it left before. */
    public final int status() {
        return status;
    }

    /** Attempts made. */
    public final int attempts() {
        return attempts;
    }

    /** When the request's head was decoded, on the engine's clock. */
    public final long arrivedAtNanos() {
        return arrivedAt;
    }

    /** Time in queues. */
    public final long queueNanos() {
        return queueNanos;
    }

    /** Time with backends, attempts and the waits between them. */
    public final long backendNanos() {
        return backendNanos;
    }

    /** Time in all, from the decoded head to the end. */
    public final long totalNanos() {
        return endedAt - arrivedAt;
    }

    /** Bytes of the answer's body. */
    public final long answerBytes() {
        return answerBytes;
    }
}
