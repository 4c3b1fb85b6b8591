package io.weir.warmup;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The backend of a warm-up: it speaks as much of HTTP/1.1 as the gateway's requests need. The path's end
 * chooses the answer. A connection whose request does not have the token in its path is closed.
 *
 * <p>It is no Netty server: its code must not have a part in what the JVM learns of the gateway's.
 */
// Concurrency: one thread for each connection. close() closes the sockets, which ends the threads.
final class PrivateBackend implements AutoCloseable {

    /** Answered after a millisecond, so that calls meet in the queue. */
    static final String PAUSE = "pause";
    /** Answered after more than {@link #SLOW_MILLIS}. */
    static final String SLOW = "slow";
    /** Every second request is refused. */
    static final String FLAKY = "flaky";
    /** A large answer. */
    static final String LARGE = "large";

    static final int SLOW_MILLIS = 60;

    private static final int CONNECTIONS_MAX = 64;
    private static final int SMALL_BYTES = 200;
    private static final int LARGE_BYTES = 64 * 1024;

    private final String token;
    private final ServerSocket server;
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private final AtomicInteger flaky = new AtomicInteger();
    private final byte[] small = answer("200 OK", SMALL_BYTES);
    private final byte[] large = answer("200 OK", LARGE_BYTES);
    private final byte[] unavailable = answer("503 Service Unavailable", 0);
    private volatile boolean isClosed;

    /**
     * A backend that listens on a free port of the loopback interface.
     *
     * @param token a segment of the path of each request
     */
    PrivateBackend(String token) throws IOException {
        this.token = token;
        this.server = new ServerSocket(0, CONNECTIONS_MAX, PrivateConfiguration.LOOPBACK);
        daemon(this::accept);
    }

    int port() {
        return server.getLocalPort();
    }

    private static void daemon(Runnable task) {
        Thread.ofPlatform().daemon().name("weir-warm-up-backend").start(task);
    }

    private static byte[] answer(String status, int bytes) {
        String head = "HTTP/1.1 " + status + "\r\nContent-Type: text/plain\r\nContent-Length: " + bytes + "\r\n\r\n";
        return (head + "w".repeat(bytes)).getBytes(StandardCharsets.US_ASCII);
    }

    private void accept() {
        while (!isClosed) {
            try {
                Socket connection = server.accept();
                connections.add(connection);
                if (isClosed || connections.size() > CONNECTIONS_MAX) {
                    close(connection);
                } else {
                    daemon(() -> serve(connection));
                }
            } catch (IOException e) {
                // Closed, or without files: then the calls of the warm-up fail, and it says so.
                return;
            }
        }
    }

    private void serve(Socket connection) {
        try (connection) {
            connection.setTcpNoDelay(true);
            InputStream in = new BufferedInputStream(connection.getInputStream());
            OutputStream out = connection.getOutputStream();
            HttpHead head = HttpHead.read(in);
            while (head != null && isAllowed(head)) {
                in.skipNBytes(head.contentLength());
                answer(head.start(), out);
                head = HttpHead.read(in);
            }
        } catch (IOException e) {
            // The gateway has closed the connection, as after a time-out.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            connections.remove(connection);
        }
    }

    private boolean isAllowed(HttpHead head) {
        return head.start().contains('/' + token + '/');
    }

    private void answer(String requestLine, OutputStream out) throws IOException, InterruptedException {
        String target = requestLine.substring(0, requestLine.lastIndexOf(' '));
        byte[] answer = small;
        if (target.endsWith(PAUSE)) {
            Thread.sleep(1);
        } else if (target.endsWith(SLOW)) {
            Thread.sleep(SLOW_MILLIS);
        } else if (target.endsWith(LARGE)) {
            answer = large;
        } else if (target.endsWith(FLAKY) && flaky.incrementAndGet() % 2 == 1) {
            answer = unavailable;
        }
        out.write(answer);
    }

    @Override
    public void close() {
        isClosed = true;
        try {
            server.close();
        } catch (IOException e) {
            // It listens no longer in any case.
        }
        connections.forEach(PrivateBackend::close);
    }

    private static void close(Socket connection) {
        try {
            connection.close();
        } catch (IOException e) {
            // It is closed in any case.
        }
    }
}
