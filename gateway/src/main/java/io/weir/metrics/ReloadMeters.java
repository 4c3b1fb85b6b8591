package io.weir.metrics;

import io.micrometer.core.instrument.Counter;
import java.time.Instant;

/** Meters of the changes of the configuration. */
public final class ReloadMeters {

    private static final double MILLIS_PER_SECOND = 1e3;

    private final Counter applied;
    private final Counter unchanged;
    private final Counter refused;
    /** Whether the files hold a configuration that was refused. */
    private volatile boolean isStale;

    private volatile double changedAtSeconds;
    private volatile long hash;

    /**
     * The meters of a gateway's configuration.
     *
     * @param startedAt when the present configuration came into force
     */
    public ReloadMeters(MeterBook book, Instant startedAt) {
        MeterScope scope = book.open();
        this.changedAtSeconds = startedAt.toEpochMilli() / MILLIS_PER_SECOND;
        this.applied = scope.counter(GatewayMeter.RELOADS, "applied");
        this.unchanged = scope.counter(GatewayMeter.RELOADS, "unchanged");
        this.refused = scope.counter(GatewayMeter.RELOADS, "refused");
        scope.gauge(GatewayMeter.RELOAD_REFUSED, () -> isStale ? 1 : 0);
        scope.gauge(GatewayMeter.RELOAD_CHANGED_AT, () -> changedAtSeconds);
        scope.gauge(GatewayMeter.CONFIGURATION_HASH, () -> hash);
    }

    /**
     * Shows the hash of the configuration in force.
     *
     * @param value at most 53 bits, which a double holds exactly
     */
    public void showHash(long value) {
        hash = value;
    }

    /** Records that another configuration is in force. */
    public void applied(Instant at) {
        changedAtSeconds = at.toEpochMilli() / MILLIS_PER_SECOND;
        applied.increment();
    }

    /** Records that the files contain the configuration in force. */
    public void unchanged() {
        unchanged.increment();
    }

    /** Ends the state that {@link #refused} began: the configuration in the files is in force. */
    public void settled() {
        isStale = false;
    }

    /** Records that the configuration in the files was refused. */
    public void refused() {
        isStale = true;
        refused.increment();
    }
}
