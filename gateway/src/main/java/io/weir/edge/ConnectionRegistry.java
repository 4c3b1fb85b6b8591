package io.weir.edge;

import io.netty.channel.Channel;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The callers' connections: how many there are, and how they are told that the gateway goes. Thread-safe. */
@SuppressWarnings("FutureReturnValueIgnored") // What becomes of a write or a close, the channel tells.
public final class ConnectionRegistry {

    private final Set<CallerConnection> connections = ConcurrentHashMap.newKeySet();
    private final AtomicInteger open = new AtomicInteger();
    private final LongAdder rejected = new LongAdder();
    private final int limit;

    ConnectionRegistry(int limit) {
        this.limit = limit;
    }

    /** Connections now. */
    public int open() {
        return open.get();
    }

    /** Connections that there may be. */
    public int limit() {
        return limit;
    }

    /** Connections that were closed at once, since the start. */
    public long rejected() {
        return rejected.sum();
    }

    /**
     * The gateway is on its way out: keep-alive connections that are idle are closed, callers of HTTP/2 are told to open no more streams. To be called
     * once the drain says so; from then on, answers of HTTP/1.1 say {@code Connection: close} by themselves.
     */
    public void drain() {
        connections.forEach(CallerConnection::drain);
    }

    /** A connection was accepted; null: it is one too many, and closed. */
    @Nullable
    CallerConnection enter(Channel channel, EdgeRules rules) {
        EdgeListener listener = rules.listener();
        if (open.incrementAndGet() > limit) {
            open.decrementAndGet();
            rejected.increment();
            listener.connectionRejected(channel.remoteAddress());
            channel.close();
            return null;
        }
        CallerConnection connection = new CallerConnection(channel, rules);
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
}
