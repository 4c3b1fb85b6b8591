/**
 * The PostgreSQL behind the records: an outside one by URL, or one that all simulators on this machine share.
 *
 * <h2>The shared database</h2>
 * Five services with a database each would compare five databases, and would need five times the memory. So the first
 * simulator to come starts one real PostgreSQL, the others find it, and it ends when the last one leaves.
 * <ul>
 *   <li>They meet in a directory, {@code sim.database.state-dir}. A file there says the port and the keeper's process.
 *   <li>PostgreSQL belongs to none of them but to a process of its own, the {@link io.weir.sim.database.PostgresKeeper},
 *       started by the first. So the first may leave before the others.
 *   <li>Every user holds a shared lock on a file; the keeper waits for the exclusive one. The operating system lets go of
 *       the lock of a process that dies in whatever way, so a database is never left running for users who were killed,
 *       and nobody polls.
 *   <li>A second lock, the gate, is held by whoever comes and by the keeper while it ends the database: nobody can join
 *       a database that is about to go.
 *   <li>The one who leaves last waits until the keeper has gone, so that a script that stops everything finds nothing
 *       left behind.
 * </ul>
 * State is stale if its keeper is not alive any more (by process number <em>and</em> start time) or nothing listens at
 * the port; the next to come then starts afresh, after ending what a killed keeper left running.
 *
 * <h2>Why not otherwise</h2>
 * A database inside the first user's process would die with it under the others. Counting users in a file goes wrong with
 * the first one that is killed. A pid alone can be somebody else's by the time it is read.
 *
 * <h2>Limitations</h2>
 * If the keeper itself is killed by force, PostgreSQL goes on for those who use it, and the next to come ends it under
 * them. As root, PostgreSQL is started in a user namespace; where a container forbids that, use an outside database.
 * Binaries are in the jar for Linux (and for the Mac that it was built on); other systems need an outside database.
 */
@NullMarked
package io.weir.sim.database;

import org.jspecify.annotations.NullMarked;
