package io.weir.warmup;

/** The compilers of a JVM. */
interface Compilers {

    /** The time that they have used since the start, all threads together. */
    long usedMillis();

    /** The number of calls after which a method that runs once in each call has reached the last compiler. */
    long callsMin();

    /** Whether the JVM has an AOT cache, and so needs less time. */
    boolean hasCache();
}
