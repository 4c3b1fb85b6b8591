package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import java.time.Instant;

/** What metrics tell of changes of the configuration. */
public final class ReloadMeters {

    private static final double SECOND = 1e3;

    private final Counter applied;
    private final Counter unchanged;
    private final Counter refused;
    private volatile boolean stale;
    private volatile double changedAt;

    /**
     * The meters of a gateway's configuration.
     *
     * @param startedAt since when what is in force is in force
     */
    public ReloadMeters(MeterBook book, Instant startedAt) {
        MeterBook.MeterScope page = book.open();
        this.changedAt = startedAt.toEpochMilli() / SECOND;
        this.applied = page.counter(Meters.RELOADS, "applied");
        this.unchanged = page.counter(Meters.RELOADS, "unchanged");
        this.refused = page.counter(Meters.RELOADS, "refused");
        page.gauge(Meters.RELOAD_REFUSED, () -> stale ? 1 : 0);
        page.gauge(Meters.RELOAD_CHANGED_AT, () -> changedAt);
    }

    /** Another configuration is in force. */
    public void applied(Instant at) {
        changedAt = at.toEpochMilli() / SECOND;
        applied.increment();
    }

    /** What is written is what was in force already. */
    public void unchanged() {
        unchanged.increment();
    }

    /** What is written in the files is in force. */
    public void settled() {
        stale = false;
    }

    /** What is written cannot be put in force. */
    public void refused() {
        stale = true;
        refused.increment();
    }
}
