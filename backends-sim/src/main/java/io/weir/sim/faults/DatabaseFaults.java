package io.weir.sim.faults;

/**
 * Faults of the service's database. Both methods return at once and continue in the background until they
 * hold everything.
 */
interface DatabaseFaults {

    /** Takes {@code connections} connections from the service's pool, at most all of them. */
    DatabaseHold takeConnections(int connections);

    /** Locks a row in a separate session outside the pool, as another program would. */
    DatabaseHold lockRow(long row);
}
