package io.weir.drain;

/**
 * The phase of the gateway's shutdown. Thread-safe: one volatile field, written by {@link Drainer} and read
 * by every request.
 */
public final class Drain {

    /** The phases, in their order. */
    public enum Phase {
        /** Ready. */
        SERVING,
        /** Not ready. Everything is still served, with {@code Connection: close}. */
        ANNOUNCED,
        /** New work is refused. Work in flight continues to its end. */
        REFUSING
    }

    private volatile Phase phase = Phase.SERVING;

    /** The current phase. */
    public Phase phase() {
        return phase;
    }

    /** Enters a phase. */
    public void enter(Phase next) {
        phase = next;
    }

    /** Whether answers ask callers to open another connection. */
    public boolean isClosingConnections() {
        return phase != Phase.SERVING;
    }

    /** Whether new work is refused. */
    public boolean isRefusing() {
        return phase == Phase.REFUSING;
    }
}
