package io.weir.drain;

/**
 * How far the gateway is on its way out. Thread-safe.
 */
public final class Drain {

    /** The phases, in their order. */
    public enum Phase {
        /** Ready. */
        SERVING,
        /** Not ready any more; everything is still served, with {@code Connection: close}. */
        ANNOUNCED,
        /** New work is refused, what is in flight ends. */
        REFUSING
    }

    private volatile Phase phase = Phase.SERVING;

    /** The phase. */
    public Phase phase() {
        return phase;
    }

    /** Goes on to a phase. */
    public void enter(Phase next) {
        phase = next;
    }

    /** Whether callers are asked to come back on another connection. */
    public boolean isClosingConnections() {
        return phase != Phase.SERVING;
    }

    /** Whether new work is refused. */
    public boolean isRefusing() {
        return phase == Phase.REFUSING;
    }
}
