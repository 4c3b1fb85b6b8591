package io.weir.engine;

/** What an exchange's deadline spans. */
public enum Mode {
    /** The whole exchange, to the answer's last byte. */
    REQUEST,
    /** The head of the answer; the rest has an idle timeout, and counts against {@code max-streams}. */
    STREAM
}
