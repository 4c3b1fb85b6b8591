package io.weir.edge;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.ScheduledFuture;
import io.weir.edge.ClientUsage.Unit;
import io.weir.outcome.Reason;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection of a caller: its guard and its only timer.
 *
 * <p>The timer is lazy: a later timeout, or none, only writes a field. The scheduled task runs, finds that it
 * is too early, and schedules itself again for the rest. So a busy connection costs one task per keep-alive
 * timeout, and no task per request.
 *
 * <p>Concurrency: confined to the connection's event loop, except {@link #drain()}.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
final class CallerConnection implements Runnable {

    /** Enforces the rules of the connection's protocol. Called on the connection's event loop. */
    interface Guard {

        /** The time of {@link #setTimeout} has passed. */
        void onTimeout();

        /** The gateway is shutting down: close the connection as soon as that loses no request. */
        void drain();
    }

    private static final Logger log = LoggerFactory.getLogger(CallerConnection.class);

    private static final AttributeKey<CallerConnection> CONNECTION =
            AttributeKey.valueOf(CallerConnection.class, "connection");

    private final Channel channel;
    private final EdgeRules rules;
    private final long openedAtNanos;
    private final ClientLimits clients;
    private @Nullable SocketAddress remote;

    /** The caller's address of a request's channel, guarded or not; null if it was not known in time. */
    static @Nullable SocketAddress remote(Channel channel) {
        CallerConnection connection = of(channel);
        return connection == null ? channel.remoteAddress() : connection.remote;
    }

    /** The entry of the connection's client; null: it is not limited. */
    private @Nullable ClientUsage client;

    /** The entry in which the present HTTP/1 request counts; null: none does. */
    private @Nullable ClientUsage requestClient;

    private @Nullable Guard guard;
    private boolean isHandshakeReported;
    private boolean isArmed;
    private long dueAtNanos;
    private @Nullable ScheduledFuture<?> task;
    private long taskAtNanos;

    /**
     * A connection that was accepted.
     *
     * @param client the entry in which the connection counts; null: it does not count
     */
    CallerConnection(Channel channel, EdgeRules rules, ClientLimits clients, @Nullable ClientUsage client) {
        this.channel = channel;
        this.rules = rules;
        this.remote = channel.remoteAddress();
        this.openedAtNanos = nowNanos();
        this.clients = clients;
        this.client = client;
        channel.attr(CONNECTION).set(this);
    }

    /** The connection of a request's channel; null if the channel is not guarded. */
    static @Nullable CallerConnection of(Channel channel) {
        Channel connection = channel instanceof Http2StreamChannel ? channel.parent() : channel;
        return connection.attr(CONNECTION).get();
    }

    /** The entry of the connection's client; null: it is not limited. */
    @Nullable
    ClientUsage client() {
        return client;
    }

    /** An HTTP/1 request counts for a client until its response is written, or the connection is closed. */
    void requestBegins(ClientUsage usage) {
        requestEnds();
        requestClient = usage;
        if (!channel.isOpen()) {
            // closed() may have run already.
            requestEnds();
        }
    }

    /** The response to an HTTP/1 request is written. */
    void requestEnds() {
        ClientUsage usage = requestClient;
        if (usage != null) {
            requestClient = null;
            clients.remove(usage, Unit.REQUEST);
        }
    }

    /** The caller's address; null if it was not known when the connection was accepted. */
    @Nullable
    SocketAddress remote() {
        return remote;
    }

    /**
     * Uses the address of the PROXY protocol's header from now on.
     *
     * @param source the caller's address, which may be unresolved; null: the peer's own address stays
     * @return false if the address has too many connections, of which this is not one, or if the connection
     *     is closed
     */
    boolean identify(@Nullable InetSocketAddress source) {
        if (source == null) {
            return true;
        }
        remote = source;
        if (!channel.isOpen()) {
            // closed() may have run already, and would not end a count.
            return false;
        }
        if (!clients.counts(source.getAddress())) {
            return true;
        }
        client = clients.addConnection(source.getAddress(), nowNanos());
        return client != null;
    }

    void close() {
        channel.close();
    }

    /** Replaces the guard; a running timeout goes on. */
    void setGuard(@Nullable Guard next) {
        guard = next;
    }

    /** The guard; null until TLS has negotiated the protocol. */
    @Nullable
    Guard guard() {
        return guard;
    }

    EdgeRules rules() {
        return rules;
    }

    /** The time at which the connection was accepted, on the event loop's clock. */
    long openedAtNanos() {
        return openedAtNanos;
    }

    /** The time on the event loop's clock. */
    long nowNanos() {
        return channel.eventLoop().ticker().nanoTime();
    }

    /** Starts the timeout, or replaces the running one. */
    void setTimeout(long nanos) {
        long dueAt = nowNanos() + nanos;
        isArmed = true;
        dueAtNanos = dueAt;
        ScheduledFuture<?> scheduled = task;
        if (scheduled != null) {
            if (taskAtNanos - dueAt <= 0) {
                return;
            }
            scheduled.cancel(false);
        }
        schedule(dueAt);
    }

    void cancelTimeout() {
        isArmed = false;
    }

    @Override
    public void run() {
        task = null;
        if (!isArmed) {
            return;
        }
        if (dueAtNanos - nowNanos() > 0) {
            schedule(dueAtNanos);
            return;
        }
        isArmed = false;
        Guard current = guard;
        if (current == null) {
            // The TLS handshake has stalled.
            reportHandshake(Handshake.TIMEOUT);
            channel.close();
        } else {
            current.onTimeout();
        }
    }

    /** Tells the guard that the gateway is shutting down. Callable from any thread. */
    void drain() {
        channel.eventLoop().execute(() -> {
            Guard current = guard;
            if (current != null) {
                current.drain();
            }
        });
    }

    /** Reports a refusal to the listener; see {@link EdgeListener#refused}. */
    void reportRefusal(
            Reason reason,
            String requestId,
            @Nullable String method,
            @Nullable String target,
            long waitedNanos,
            int answerBytes) {
        rules.listener().refused(reason, requestId, method, target, remote, waitedNanos, answerBytes);
    }

    /** Reports the end of the TLS handshake; only the first report counts. */
    void reportHandshake(Handshake handshake) {
        if (!isHandshakeReported) {
            isHandshakeReported = true;
            rules.listener().handshakeEnded(handshake);
        }
    }

    /** Reports a TLS handshake that has failed. */
    void reportFailedHandshake(Throwable cause) {
        reportHandshake(Handshake.failed(cause));
        log.debug("{}: TLS handshake failed: {}", channel, cause.toString());
    }

    /**
     * Cancels the scheduled task of a closed connection, which would keep the connection in memory, and ends
     * its count.
     */
    void closed() {
        requestEnds();
        ClientUsage usage = client;
        if (usage != null) {
            client = null;
            clients.remove(usage, Unit.CONNECTION);
        }
        isArmed = false;
        Future<?> scheduled = task;
        if (scheduled != null) {
            task = null;
            scheduled.cancel(false);
        }
    }

    private void schedule(long momentNanos) {
        taskAtNanos = momentNanos;
        task = channel.eventLoop().schedule(this, Math.max(0, momentNanos - nowNanos()), TimeUnit.NANOSECONDS);
    }
}
