package io.weir.dashboard;

import java.util.function.Consumer;

/**
 * One client of a stream of events.
 *
 * <p>A client whose connection has not yet taken the last event misses the next one, which does no harm,
 * since each event is complete. After {@value #MAX_MISSES} misses in a row the connection is closed.
 */
// Concurrency: used on the feed's thread only, except `end`.
final class StreamClient {

    static final int MAX_MISSES = 3;

    /** The connection to a client. */
    interface Connection {

        /** Whether most of the bytes sent before have left the gateway. */
        boolean isReady();

        /** Sends bytes; they must not be changed afterwards. */
        void send(byte[] bytes);

        /** Ends the response regularly. */
        void end();

        /** Closes the connection. */
        void close();
    }

    private final Connection connection;
    private final boolean usesGzip;
    private boolean isStarted;
    private int misses;

    /**
     * A client that has received no event.
     *
     * @param usesGzip whether it receives the compressed events
     */
    StreamClient(Connection connection, boolean usesGzip) {
        this.connection = connection;
        this.usesGzip = usesGzip;
    }

    /** Whether the client has received its first event. */
    boolean isStarted() {
        return isStarted;
    }

    /**
     * Sends the first event, which the later ones depend on.
     *
     * @param onSlow called if the connection is closed because the client is too slow
     */
    void start(EventFrames.Frame frame, Consumer<StreamClient> onSlow) {
        isStarted = true;
        if (usesGzip) {
            connection.send(EventFrames.gzipHeader());
        }
        offer(frame, onSlow);
    }

    /**
     * Sends an event, or counts a miss.
     *
     * @param onSlow called if the connection is closed because the client is too slow
     */
    void offer(EventFrames.Frame frame, Consumer<StreamClient> onSlow) {
        if (!connection.isReady()) {
            misses++;
            if (misses >= MAX_MISSES) {
                onSlow.accept(this);
                connection.close();
            }
            return;
        }
        misses = 0;
        connection.send(frame.bytes(usesGzip));
    }

    void end() {
        connection.end();
    }
}
