package io.weir.warmup;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The callers of a warm-up: each sends a request after the answer to the one before, so there are never more
 * calls at once than callers. They take the same kind of call at about the same time, so that calls to a
 * backend with one permit meet each other.
 */
// Concurrency: one thread for each caller. close() closes the sockets, which ends the threads.
final class PrivateCallers implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(PrivateCallers.class);
    private static final int CALLERS = 8;
    /** Rounds between two calls that wait for a time-out. */
    private static final int TIMEOUT_ROUNDS = 2;

    private static final int TIMEOUT_MILLIS = 5_000;
    private static final int PAUSE_AFTER_FAILURE_MILLIS = 50;
    private static final int STATUS_AT = "HTTP/1.1 ".length();
    private static final int STATUS_END = STATUS_AT + 3;

    private final int port;
    private final List<WarmUpCall> round;
    private final WarmUpCall timeout;
    private final AtomicLong next = new AtomicLong();
    private final LongAdder answered = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final Set<Socket> connections = ConcurrentHashMap.newKeySet();
    private volatile boolean isClosed;

    /**
     * Callers that send nothing yet.
     *
     * @param port of the loopback interface
     * @param round the calls, which are repeated
     * @param timeout a call after some rounds
     */
    PrivateCallers(int port, List<WarmUpCall> round, WarmUpCall timeout) {
        this.port = port;
        this.round = round;
        this.timeout = timeout;
    }

    void start() {
        for (int i = 0; i < CALLERS; i++) {
            Thread.ofPlatform().daemon().name("weir-warm-up-caller").start(this::call);
        }
    }

    long answered() {
        return answered.sum();
    }

    long failed() {
        return failed.sum();
    }

    private WarmUpCall nextCall() {
        long number = next.getAndIncrement() / CALLERS;
        long inRounds = number % ((long) TIMEOUT_ROUNDS * round.size());
        return inRounds == 0 && number > 0 ? timeout : round.get((int) (inRounds % round.size()));
    }

    private void call() {
        while (!isClosed) {
            try (Socket connection = new Socket()) {
                connections.add(connection);
                callOn(connection);
            } catch (IOException e) {
                if (!isClosed) {
                    log.debug("A call failed", e);
                    failed.increment();
                    pause();
                }
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_AFTER_FAILURE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void callOn(Socket connection) throws IOException {
        try {
            connection.setTcpNoDelay(true);
            connection.setSoTimeout(TIMEOUT_MILLIS);
            connection.connect(new InetSocketAddress(PrivateConfiguration.LOOPBACK, port), TIMEOUT_MILLIS);
            InputStream in = new BufferedInputStream(connection.getInputStream());
            boolean isOpen = true;
            while (isOpen && !isClosed) {
                WarmUpCall call = nextCall();
                connection.getOutputStream().write(call.bytes());
                HttpHead head = HttpHead.read(in);
                if (head == null) {
                    throw new IOException("no answer");
                }
                in.skipNBytes(head.contentLength());
                count(call, head.start());
                isOpen = !head.closes();
            }
        } finally {
            connections.remove(connection);
        }
    }

    private void count(WarmUpCall call, String statusLine) throws IOException {
        try {
            int status = Integer.parseInt(statusLine, STATUS_AT, STATUS_END, 10);
            boolean isExpected = call.statuses().contains(status);
            (isExpected ? answered : failed).increment();
            if (!isExpected) {
                log.debug("{} was answered with {} (expected: {})", call.path(), status, call.statuses());
            }
        } catch (NumberFormatException | IndexOutOfBoundsException e) {
            throw new IOException("answer: " + statusLine + " (expected: a status)", e);
        }
    }

    @Override
    public void close() {
        isClosed = true;
        for (Socket connection : connections) {
            try {
                connection.close();
            } catch (IOException e) {
                // It is closed in any case.
            }
        }
    }
}
