package io.weir.perf.run;

/** The run cannot go on. The message is shown without a stack trace. */
public final class RunFailure extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public RunFailure(String message) {
        super(message);
    }

    public RunFailure(String message, Throwable cause) {
        super(message, cause);
    }
}
