package io.weir.sim.faults;

/** What can be taken from the service's database. Both return at once and go on taking until they have all they want. */
interface DatabaseFaults {

    /** Takes that many connections from the service's own pool, or all. */
    Seizure takeConnections(int connections);

    /** Locks a row in a session of its own, outside the pool, as another program would. */
    Seizure lockRow(long row);
}
