/**
 * The PostgreSQL that stores the records: an external one by URL, or one that all simulators on this machine
 * share.
 *
 * <h2>The shared database</h2>
 * Five services with five databases would compare the databases too, and would need five times the memory. So
 * the first simulator starts one real PostgreSQL, the others find it, and it stops when the last one leaves.
 * <ul>
 *   <li>The processes meet in a directory, {@code sim.database.state-dir}. A file there contains PostgreSQL's
 *       port and the keeper's process id.
 *   <li>A separate process owns PostgreSQL, the {@link io.weir.sim.database.PostgresKeeper}. The first
 *       simulator starts it, and may leave before the others.
 *   <li>Every user holds a shared lock on a file, and the keeper waits for the exclusive lock. The operating
 *       system releases the lock of a process that ends in any way. So no database runs on after its users
 *       were killed, and no process polls.
 *   <li>A process holds a second lock, the gate, while it joins, and the keeper holds it while it stops the
 *       database. So no process joins a database that is about to stop.
 *   <li>A script may start the keeper itself and without users: {@code keep-postgres DIRECTORY
 *       MAX-CONNECTIONS until-stopped}. It stops after SIGTERM, once the last user has left.
 *   <li>The last user waits until the keeper has ended, so that a script that stops everything leaves no
 *       process behind.
 * </ul>
 * The state is stale if its keeper no longer runs (by process id <em>and</em> start time) or if the port
 * refuses connections. The next process then starts a new database, after it has stopped the one that a
 * killed keeper left.
 *
 * <h2>Alternatives that were rejected</h2>
 * A database inside the first user's process would end with it while the others still use it. A counter of
 * users in a file is wrong after the first user is killed. A process id alone may belong to another process
 * by the time it is read.
 *
 * <h2>Limitations</h2>
 * If the keeper is killed by SIGKILL, PostgreSQL continues for its current users, and the next process that
 * joins stops it under them. Started by root, PostgreSQL runs in a user namespace; where a container forbids
 * that, use an external database. The jar contains binaries for Linux, and for the Mac on which it was built;
 * other systems need an external database.
 */
@NullMarked
package io.weir.sim.database;

import org.jspecify.annotations.NullMarked;
