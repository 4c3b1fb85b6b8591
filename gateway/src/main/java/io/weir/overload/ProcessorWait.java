package io.weir.overload;

/** The time for which an event loop's thread was ready to run while the processors ran others. */
@FunctionalInterface
interface ProcessorWait {

    /** Nanoseconds since the thread's start. Call it on the thread. */
    long nanos();

    /** Ends the measurement: the time stays. Call it on the thread. */
    default void close() {}
}
