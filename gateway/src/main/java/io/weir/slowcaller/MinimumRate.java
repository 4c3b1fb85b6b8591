package io.weir.slowcaller;

/**
 * Detects a caller that moves bytes more slowly than a minimum rate for the idle time-out.
 *
 * <p>The algorithm is a credit of time, which starts at the idle time-out. Each nanosecond of waiting for the
 * caller takes one nanosecond away. Each byte gives back the time that a byte takes at the minimum rate. The
 * credit never exceeds the idle time-out. So a caller that moves nothing is too slow after exactly that time,
 * a caller that sends one byte per interval only a little later, and a caller at the minimum rate never.
 *
 * <p>Confined to the exchange's event loop.
 */
public final class MinimumRate {

    private static final double SECOND_NANOS = 1e9;

    private final double graceNanos;
    private final double nanosPerByte;
    private double creditNanos;

    /**
     * A rate with full credit.
     *
     * @param graceNanos the longest credit
     * @param bytesPerSecond the minimum rate; 0: none
     */
    public MinimumRate(long graceNanos, long bytesPerSecond) {
        this.graceNanos = graceNanos;
        this.nanosPerByte = bytesPerSecond == 0 ? 0 : SECOND_NANOS / bytesPerSecond;
        this.creditNanos = graceNanos;
    }

    /** Restores the full credit, since the gateway does not wait for the caller any more. */
    public void restart() {
        creditNanos = graceNanos;
    }

    /** The gateway has waited for the caller. */
    public void waited(long nanos) {
        creditNanos -= nanos;
    }

    /** The caller has moved bytes. */
    public void moved(long bytes) {
        creditNanos = Math.min(graceNanos, creditNanos + bytes * nanosPerByte);
    }

    /**
     * Time until the caller is too slow if it moves nothing; {@link Long#MAX_VALUE} without a minimum
     * rate.
     */
    public long leftNanos() {
        return nanosPerByte == 0 ? Long.MAX_VALUE : (long) creditNanos;
    }
}
