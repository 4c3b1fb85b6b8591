package io.weir.sim.faults;

import org.jspecify.annotations.Nullable;

/** Connections or row locks that a fault holds until it heals. */
interface DatabaseHold extends AutoCloseable {

    /** The number of connections or rows held now. */
    int held();

    /** The cause if the database refused the hold. */
    @Nullable
    Throwable failure();

    /** Releases everything, and stops waiting for the rest. */
    @Override
    void close();
}
