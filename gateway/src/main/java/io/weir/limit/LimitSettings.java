package io.weir.limit;

/**
 * The configured part of a backend's limit and queue.
 *
 * @param fixed the number that the configuration sets; 0: the limit adapts
 * @param bounds the bounds of an adaptive limit
 * @param queueCapacity the limit on waiters; {@link #AUTO}: the adaptive limit also sets it
 * @param deadlineNanos the deadline of the backend's calls
 * @param hasSignal whether the backend may state its capacity, in place of an adaptive limit
 */
public record LimitSettings(int fixed, LimitBounds bounds, int queueCapacity, long deadlineNanos, boolean hasSignal) {

    /** The capacity of a queue that follows the limit. */
    public static final int AUTO = -1;

    /** The settings of a fixed limit, and of a queue that refuses newcomers. */
    public static LimitSettings fixed(int permits, int queueCapacity) {
        return new LimitSettings(permits, LimitBounds.DEFAULT, queueCapacity, 0, false);
    }

    /** The settings of an adaptive limit, and of a queue that evicts the oldest call. */
    public static LimitSettings adaptive(LimitBounds bounds, int queueCapacity, long deadlineNanos) {
        return new LimitSettings(0, bounds, queueCapacity, deadlineNanos, false);
    }

    /** The same settings with the capacity signal on or off. */
    public LimitSettings withSignal(boolean isOn) {
        return new LimitSettings(fixed, bounds, queueCapacity, deadlineNanos, isOn);
    }

    /** Whether the limit adapts. */
    public boolean isAdaptive() {
        return fixed == 0;
    }
}
