package io.weir.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;

/** A port that accepts no connection. */
public final class UnwillingPort implements AutoCloseable {

    private static final int MAX_WAITING = 64;
    private static final int FULL_AFTER_MILLIS = 100;

    private final List<AutoCloseable> held = new ArrayList<>();
    private int port;

    private UnwillingPort() {}

    /** A port that is reserved but has no listener: connections are refused. */
    public static UnwillingPort refusing() {
        UnwillingPort unwilling = new UnwillingPort();
        try {
            Socket bound = new Socket();
            unwilling.held.add(bound);
            bound.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            unwilling.port = bound.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return unwilling;
    }

    /**
     * A listener with a full backlog that never accepts: a handshake gets no answer, as from a host that is
     * down.
     */
    public static UnwillingPort silent() {
        return silent(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    /** Like {@link #silent()}, at this address. */
    public static UnwillingPort silent(InetSocketAddress address) {
        UnwillingPort unwilling = new UnwillingPort();
        try {
            ServerSocket listener = new ServerSocket(address.getPort(), 1, address.getAddress());
            unwilling.held.add(listener);
            unwilling.port = listener.getLocalPort();
            for (int i = 0; i < MAX_WAITING; i++) {
                Socket waiting = new Socket();
                unwilling.held.add(waiting);
                waiting.connect(listener.getLocalSocketAddress(), FULL_AFTER_MILLIS);
            }
        } catch (SocketTimeoutException e) {
            return unwilling;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        throw new IllegalStateException("backlog: endless (expected: one)");
    }

    /** {@code http://127.0.0.1:port}. */
    public String uri() {
        return "http://127.0.0.1:" + port;
    }

    @Override
    public void close() {
        for (AutoCloseable each : held) {
            try {
                each.close();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
