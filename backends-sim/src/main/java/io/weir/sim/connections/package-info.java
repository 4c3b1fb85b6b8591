/**
 * Virtual threads and a connection pool: threads no longer limit a service, but connections still do.
 *
 * <p>In the JDBC stacks, {@code GET /connections} uses a connection of a small pool for some time, each
 * request on its own virtual thread.
 * <ul>
 *   <li>{@code guard=none}: every request asks the pool at once. The requests that the pool cannot serve
 *       within its timeout fail.
 *   <li>{@code guard=semaphore}: only as many requests ask the pool as it has connections. The others wait at
 *       a fair semaphore. No request times out, and the wait is in a place where it can be measured and
 *       bounded.
 *   <li>{@code acquisition=nested}: a request acquires a second connection while it holds the first. As soon
 *       as every connection is held by a request that waits for another one, no request can continue until
 *       the pool's timeout: a deadlock, which the semaphore alone does not prevent.
 *       {@link io.weir.sim.connections.ConnectionLedger} detects it when it begins. It is logged, counted
 *       ({@code sim.connections.deadlocks}), and named in the answers to the requests that are part of it.
 *   <li>{@code acquisition=once}: the same work with one connection for the whole request, passed on in a
 *       {@link java.lang.ScopedValue}. No request waits while it holds a connection, so no deadlock is
 *       possible.
 * </ul>
 * The ledger only detects. Breaking the deadlock by failing one request early would hide the effect that the
 * experiment shows.
 */
@NullMarked
package io.weir.sim.connections;

import org.jspecify.annotations.NullMarked;
