/**
 * Slow services on a real database, in five stacks, breakable at run time: what stands behind the gateway in its tests, in
 * its benchmarks, and on the table of whoever tries it out.
 *
 * <pre>{@code
 * java -jar weir-backends-sim.jar --sim.stack=webflux-r2dbc --server.port=8081 --management.server.port=9081
 * curl localhost:8081/records
 * curl -X PUT localhost:9081/faults -d '{"kind": "hang", "duration": "15s"}'
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.weir.sim.stack}: which of the five this process is.
 *   <li>{@link io.weir.sim.database}: the PostgreSQL, outside or shared between the processes of a machine.
 *   <li>{@link io.weir.sim.records}: the service that is compared.
 *   <li>{@link io.weir.sim.threads}: the blocked servlet thread, and a thread pool under Little's law.
 *   <li>{@link io.weir.sim.fanout}: one answer out of two services, in four ways.
 *   <li>{@link io.weir.sim.connections}: virtual threads against a connection pool.
 *   <li>{@link io.weir.sim.faults}: what can be broken.
 *   <li>{@link io.weir.sim.problem}: how every stack says no.
 * </ul>
 *
 * <p>Capabilities do not know each other. The service's port and the management port are two, with threads of their own:
 * on the first everything can hang, the second answers all the same.
 *
 * <h2>Packaging</h2>
 * {@code weir-backends-sim.jar} has everything. {@code weir-backends-sim-<stack>.jar} has what that stack needs and no
 * PostgreSQL of its own, so that sizes and memory can be compared; it finds the shared database that another process
 * ({@code weir-backends-sim.jar --sim.stack=postgres}) has started, or an outside one by {@code sim.database.url}.
 *
 * <h2>The overloaded backend</h2>
 * {@code --sim.pool.workers=10 --sim.pool.service-time=50ms --sim.pool.queue-capacity=-1} makes {@code /work} a backend
 * that can do 200 requests a second, queues all that come, and goes on working for callers who have left.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
