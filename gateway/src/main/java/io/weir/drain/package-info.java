/**
 * Stops the gateway without losing a request: the gateway first announces that it stops, then refuses new
 * work.
 *
 * <p><b>Protects against</b> requests that are lost in a rolling update: a load balancer keeps sending
 * requests to a gateway until it has noticed that the gateway is not ready.
 *
 * <p><b>Algorithm</b> ({@link io.weir.drain.Drainer}).
 *
 * <ol>
 *   <li>For {@code drain.delay} readiness fails while everything is still served, with {@code Connection:
 *       close} or GOAWAY. Load balancers notice before anything is refused.
 *   <li>Then new work is refused with {@code shutting-down}. Exchanges in flight have {@code drain.timeout}
 *       to end, and so have requests on unprotected routes, which have no exchange. Streams are closed at
 *       once, so that they do not delay the exit.
 *   <li>Exchanges that have not ended by then are ended, with the same reason: a caller without an answer
 *       gets that answer, the connection of a caller with an incomplete answer is reset.
 * </ol>
 *
 * <p>Concurrency: {@link io.weir.drain.Drain} is one volatile phase, which every request reads. The drain
 * runs on the thread that closes the application, which waits for it.
 */
@NullMarked
package io.weir.drain;

import org.jspecify.annotations.NullMarked;
