package io.weir.perf.run;

/** Why nothing could be measured: a line for whoever sits in front of it. */
public final class RunFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** A failure with its line. */
    public RunFailure(String message) {
        super(message);
    }

    /** A failure with its line and where it came from. */
    public RunFailure(String message, Throwable cause) {
        super(message, cause);
    }
}
