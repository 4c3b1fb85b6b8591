/**
 * Virtual threads against a connection pool: threads are no longer what limits a service, connections still are.
 *
 * <p>{@code GET /connections} uses a connection of a small pool for a while, each request on a virtual thread of its own,
 * in the JDBC stacks.
 * <ul>
 *   <li>{@code guard=none}: everybody asks the pool at once. More of them than it can serve within its time-out fail.
 *   <li>{@code guard=semaphore}: as many as there are connections ask, the others wait outside, first come first served.
 *       Nobody times out; the wait is where it can be seen and bounded.
 *   <li>{@code acquisition=nested}: a request takes a second connection while it holds the first. As soon as every
 *       connection is held by a request that wants another one, nobody can go on until the pool's time-out: a deadlock
 *       that the semaphore alone does not prevent. {@link io.weir.sim.connections.ConnectionLedger} sees it when it closes;
 *       it is logged, counted ({@code sim.connections.deadlocks}), and named in the answers of those who were caught.
 *   <li>{@code acquisition=once}: the same work with one connection for the whole request, handed down in a
 *       {@link java.lang.ScopedValue}. There is nothing left to wait for while holding, so there can be no deadlock.
 * </ul>
 * The detection only tells: to break the deadlock by failing somebody early would hide what the experiment shows.
 */
@NullMarked
package io.weir.sim.connections;

import org.jspecify.annotations.NullMarked;
