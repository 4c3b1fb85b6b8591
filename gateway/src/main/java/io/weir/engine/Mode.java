package io.weir.engine;

/** The part of an exchange that its deadline covers. */
public enum Mode {
    /** The whole exchange, up to the answer's last byte. */
    REQUEST,
    /**
     * Everything up to the answer's head. The rest has an idle time-out and counts against {@code
     * max-streams}.
     */
    STREAM
}
