package io.weir.drain;

import io.weir.drain.Drain.Phase;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the drain: announces it, refuses new work, waits for the work in flight, ends the rest. Blocks its
 * thread for the whole drain; used once.
 */
public final class Drainer {

    private static final Logger log = LoggerFactory.getLogger(Drainer.class);

    private static final Duration POLL_INTERVAL = Duration.ofMillis(10);
    /** Time for the answers of exchanges that the drain ended to reach their callers. */
    private static final Duration LAST_ANSWERS_TIMEOUT = Duration.ofSeconds(1);

    /** The work that the gateway does for callers. */
    public interface Traffic {

        /**
         * The number of requests in flight: exchanges, streams included, and requests without an exchange.
         */
        int inFlight();

        /** The number of streams in flight. */
        int streams();

        /** Begins to end all streams. */
        void closeStreams();

        /** Begins to end all exchanges, with {@code shutting-down}. */
        void endAll();
    }

    /** The steps of the drain that other parts of the gateway execute. */
    public interface Listener {

        /**
         * Readiness must fail now, and callers must be asked to use other connections. Everything is still
         * served.
         */
        void announced();

        /** No exchange is in flight. The listener stops everything that keeps the event loops busy. */
        void drained();
    }

    private final Drain drain;
    private final DrainProperties properties;
    private final Traffic traffic;
    private final Listener listener;
    private final LongSupplier nanoClock;
    private final Consumer<Duration> pause;

    /**
     * A drain that has not begun.
     *
     * @param drain the phase, which requests read
     * @param nanoClock {@link System#nanoTime}, except in tests
     * @param pause blocks the calling thread for a time, or for less if the thread is interrupted
     */
    public Drainer(
            Drain drain,
            DrainProperties properties,
            Traffic traffic,
            Listener listener,
            LongSupplier nanoClock,
            Consumer<Duration> pause) {
        this.drain = drain;
        this.properties = properties;
        this.traffic = traffic;
        this.listener = listener;
        this.nanoClock = nanoClock;
        this.pause = pause;
    }

    /** Drains, and returns when the gateway may exit. */
    public void run() {
        log.info("Draining: not ready any more, serving for {}", text(properties.delay()));
        drain.enter(Phase.ANNOUNCED);
        listener.announced();
        pause.accept(properties.delay());
        log.info("Draining: refusing new work, {} in flight, {} streams", traffic.inFlight(), traffic.streams());
        drain.enter(Phase.REFUSING);
        traffic.closeStreams();
        if (!awaitNoneInFlight(properties.timeout())) {
            log.warn("Draining: ending {} in flight after {}", traffic.inFlight(), text(properties.timeout()));
            traffic.endAll();
            awaitNoneInFlight(LAST_ANSWERS_TIMEOUT);
        }
        log.info("Drained: {} in flight", traffic.inFlight());
        listener.drained();
    }

    /** {@code 1.5s}. */
    private static String text(Duration duration) {
        return duration.toString().substring("PT".length()).toLowerCase(Locale.ROOT);
    }

    private boolean awaitNoneInFlight(Duration timeout) {
        long deadlineNanos = nanoClock.getAsLong() + timeout.toNanos();
        while (traffic.inFlight() > 0 && nanoClock.getAsLong() - deadlineNanos < 0) {
            pause.accept(POLL_INTERVAL);
        }
        return traffic.inFlight() == 0;
    }
}
