package io.weir.sim.faults;

import org.jspecify.annotations.Nullable;

/** Something of the database that is really held, until it is closed. */
interface Seizure extends AutoCloseable {

    /** How many connections or rows are held by now. */
    int held();

    /** Why it is not held, if that is so. */
    @Nullable
    Throwable failure();

    /** Gives everything back, also what was still being waited for. */
    @Override
    void close();
}
