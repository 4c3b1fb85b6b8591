package io.weir.dashboard;

import java.util.function.Consumer;

/**
 * Somebody who looks at a stream.
 *
 * <p>Passed over as long as the connection has not taken the last event, and cut off after the third in a row: each event is whole, so
 * what is missed does no harm, and who misses all is not there.
 */
// Concurrency: used on the feed's thread only, but for its end.
final class Viewer {

    static final int MISSES = 3;

    /** The connection of a viewer. */
    interface Line {

        /** Whether it has taken most of what it was given. */
        boolean isReady();

        /** Sends. */
        void send(byte[] bytes);

        /** Ends the stream in order. */
        void end();

        /** Breaks the connection off. */
        void cut();
    }

    private final Line line;
    private final boolean gzip;
    private boolean welcomed;
    private int missed;

    Viewer(Line line, boolean gzip) {
        this.line = line;
        this.gzip = gzip;
    }

    /** Whether it has been given its first event. */
    boolean isWelcomed() {
        return welcomed;
    }

    /**
     * Gives it its first event, on which those that follow build.
     *
     * @param dropped told if it is cut off
     */
    void welcome(EventFrames.Frame frame, Consumer<Viewer> dropped) {
        welcomed = true;
        if (gzip) {
            line.send(EventFrames.gzipHeader());
        }
        offer(frame, dropped);
    }

    /**
     * Gives it an event.
     *
     * @param dropped told if it is cut off
     */
    void offer(EventFrames.Frame frame, Consumer<Viewer> dropped) {
        if (!line.isReady()) {
            missed++;
            if (missed >= MISSES) {
                dropped.accept(this);
                line.cut();
            }
            return;
        }
        missed = 0;
        line.send(frame.bytes(gzip));
    }

    void end() {
        line.end();
    }
}
