package io.weir.overload;

/** The cause for which the gateway refuses a request to protect itself. */
public enum ShedCause {
    /** The standing delay of the request's event loop. */
    DELAY("event-loop-delay"),
    /** The exchanges in flight. */
    IN_FLIGHT("in-flight"),
    /** The memory in use. */
    MEMORY("memory");

    private final String word;

    ShedCause(String word) {
        this.word = word;
    }

    /** The word for the cause in metrics. */
    public String word() {
        return word;
    }
}
