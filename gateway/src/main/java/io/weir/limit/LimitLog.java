package io.weir.limit;

import io.weir.limit.Limit.Beliefs;
import io.weir.limit.Limit.Change;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of an adaptive limit. Changes are logged at debug: under load there are several in a second, and
 * the metrics show them. Reaching the floor or the ceiling is logged at info, since the limit cannot adapt
 * further: at most one line in {@value #INTERVAL_MINUTES} minutes for each backend.
 */
// Concurrency: confined to the thread that processes the limit's samples.
public final class LimitLog {

    static final int INTERVAL_MINUTES = 5;

    private static final Logger log = LoggerFactory.getLogger(LimitLog.class);
    private static final double NANOS_PER_MILLI = 1e6;
    private static final double PERCENT = 100;
    /** The reason of a change that the limit has not decided on. */
    private static final String SETTINGS = "the bounds, or the instances that take calls";

    private final String backend;
    private final LimitInForce limit;
    private final LongSupplier nanoClock;

    private int last;
    /** The decisions of the limit so far. */
    private long decisions;
    /** The number before the running probe; 0: none runs. */
    private int beforeProbe;

    private Edge edge = Edge.NONE;
    private boolean isFirst = true;
    private long loggedAtNanos;
    private int omitted;

    private enum Edge {
        NONE,
        FLOOR,
        CEILING
    }

    /**
     * The log of a backend's limit.
     *
     * @param nanoClock {@link System#nanoTime}, except in tests
     */
    public LimitLog(String backend, LimitInForce limit, LongSupplier nanoClock) {
        this.backend = backend;
        this.limit = limit;
        this.nanoClock = nanoClock;
        Beliefs beliefs = limit.beliefs();
        this.last = beliefs.limit();
        this.decisions = beliefs.decisions();
    }

    /** Logs the change, if the number has changed. */
    public void changed() {
        Beliefs beliefs = limit.beliefs();
        int now = beliefs.limit();
        if (beliefs.isFixed() || now == last) {
            return;
        }
        boolean isProbe = beliefs.lastChange() == Change.PROBE;
        if (isProbe) {
            beforeProbe = last;
            logChange(beliefs, "probe");
        } else if (now == beforeProbe) {
            beforeProbe = 0;
            logChange(beliefs, "the probe is over");
        } else {
            beforeProbe = 0;
            // After a probe that was cancelled, the last decision is an earlier one.
            if (beliefs.decisions() > decisions) {
                logChange(beliefs, beliefs.lastChange().word());
                // A probe may go below the floor for a moment.
                moved(now, beliefs.lastChange());
            } else {
                logChange(beliefs, SETTINGS);
            }
        }
        last = now;
        decisions = beliefs.decisions();
    }

    private void logChange(Beliefs beliefs, String reason) {
        if (log.isDebugEnabled()) {
            log.debug(
                    "Limit of backend {}: {} -> {} ({}; base latency {} ms, {} answers/s, utilisation {} %)",
                    backend,
                    last,
                    beliefs.limit(),
                    reason,
                    Math.round(beliefs.baseLatencyNanos() / NANOS_PER_MILLI),
                    Math.round(beliefs.answersPerSecond()),
                    Math.round(PERCENT * beliefs.utilisation()));
        }
    }

    private void moved(int now, Change reason) {
        Edge before = edge;
        edge = now <= limit.min() ? Edge.FLOOR : now >= limit.max() ? Edge.CEILING : Edge.NONE;
        if (edge == before || edge == Edge.NONE || limit.min() == limit.max()) {
            return;
        }
        long nanos = nanoClock.getAsLong();
        if (!isFirst && nanos - loggedAtNanos < TimeUnit.MINUTES.toNanos(INTERVAL_MINUTES)) {
            omitted++;
            return;
        }
        log.info(
                "Limit of backend {} reached its {}, {} ({}){}",
                backend,
                edge == Edge.FLOOR ? "floor" : "ceiling",
                now,
                reason.word(),
                omitted == 0 ? "" : "; " + omitted + " times more since the last line");
        isFirst = false;
        loggedAtNanos = nanos;
        omitted = 0;
    }
}
