package io.weir.warmup;

/** The calls of a warm-up, and what serves them. */
public interface Exercise extends AutoCloseable {

    /** Begins the calls; they go on until {@link #close}. */
    void start();

    /** The number of calls that were answered as expected. */
    long answered();

    /** The number of calls that were not; their connections are replaced. */
    long failed();

    /** Ends the calls, and everything that was opened for them. */
    @Override
    void close();
}
