package io.weir.edge;

import io.netty.channel.Channel;
import io.weir.outcome.ThrottledLog;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The open connections of callers: enforces their limits, and announces the gateway's shutdown to them.
 * Thread-safe.
 */
@SuppressWarnings("FutureReturnValueIgnored") // A failed write or close shows as the channel's close.
public final class ConnectionRegistry {

    private static final ThrottledLog rejectedLog = ThrottledLog.of(ConnectionRegistry.class);

    private final Set<CallerConnection> connections = ConcurrentHashMap.newKeySet();
    private final AtomicInteger open = new AtomicInteger();
    private final LongAdder rejected = new LongAdder();
    private final int limit;
    private final String rule;
    private final ClientLimits clients;

    /**
     * A registry without connections.
     *
     * @param rule the limit as the log names it
     */
    ConnectionRegistry(int limit, String rule, ClientLimits clients) {
        this.limit = limit;
        this.rule = rule;
        this.clients = clients;
    }

    /** The number of open connections. */
    public int open() {
        return open.get();
    }

    /** The largest number of open connections. */
    public int limit() {
        return limit;
    }

    /** The number of connections that were rejected over the limit of all connections since the start. */
    public long rejected() {
        return rejected.sum();
    }

    /**
     * Announces the shutdown: closes idle HTTP/1 connections, and tells HTTP/2 callers to open no new
     * streams. Call it after the {@link io.weir.drain.Drain} has begun to close connections; from then on,
     * HTTP/1 responses carry {@code Connection: close}.
     */
    public void drain() {
        connections.forEach(CallerConnection::drain);
    }

    /**
     * Registers an accepted connection; closes it and returns null if the limit of all connections or of its
     * client's connections is reached.
     */
    @Nullable
    CallerConnection register(Channel channel, EdgeRules rules) {
        EdgeListener listener = rules.listener();
        if (open.incrementAndGet() > limit) {
            rejected.increment();
            rejectedLog.warn(
                    channel.eventLoop().ticker().nanoTime(),
                    () -> "Connection of " + channel.remoteAddress() + " closed: " + limit
                            + " are open (expected: at most " + rule + ")");
            reject(channel, listener);
            return null;
        }
        InetAddress address = channel.remoteAddress() instanceof InetSocketAddress peer ? peer.getAddress() : null;
        ClientUsage client = null;
        if (clients.counts(address)) {
            client = clients.addConnection(address, channel.eventLoop().ticker().nanoTime());
            if (client == null) {
                reject(channel, listener);
                return null;
            }
        }
        CallerConnection connection = new CallerConnection(channel, rules, clients, client);
        connections.add(connection);
        listener.connectionOpened();
        channel.closeFuture().addListener(closed -> {
            open.decrementAndGet();
            connections.remove(connection);
            connection.closed();
            listener.connectionClosed();
        });
        return connection;
    }

    private void reject(Channel channel, EdgeListener listener) {
        open.decrementAndGet();
        listener.connectionRejected(channel.remoteAddress());
        channel.close();
    }
}
