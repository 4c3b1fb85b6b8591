/**
 * Simulated backends: slow services on a real database, in five stacks, with faults that are switched on at
 * run time. The gateway's tests and benchmarks use them as backends, and so does a user who tries the gateway
 * out.
 *
 * <pre>{@code
 * java -jar weir-backends-sim.jar --sim.stack=webflux-r2dbc --server.port=8081 --management.server.port=9081
 * curl localhost:8081/records
 * curl -X PUT localhost:9081/faults -d '{"kind": "hang", "duration": "15s"}'
 * }</pre>
 *
 * <ul>
 *   <li>{@link io.weir.sim.stack}: the choice among the five stacks.
 *   <li>{@link io.weir.sim.database}: the PostgreSQL, an external one or one shared by the simulators of a
 *       machine.
 *   <li>{@link io.weir.sim.records}: the service whose five implementations are compared.
 *   <li>{@link io.weir.sim.threads}: the blocked servlet thread, and a thread pool measured by Little's law.
 *   <li>{@link io.weir.sim.fanout}: one answer composed from two services, implemented in four ways.
 *   <li>{@link io.weir.sim.connections}: virtual threads that share a small connection pool.
 *   <li>{@link io.weir.sim.faults}: the faults.
 *   <li>{@link io.weir.sim.problem}: the error answers, the same in every stack.
 * </ul>
 *
 * <p>Capabilities do not depend on each other. The service and the management endpoints use different ports
 * and different threads: the management port answers even if every thread of the service hangs.
 *
 * <h2>Packaging</h2>
 * {@code weir-backends-sim.jar} contains everything. {@code weir-backends-sim-<stack>.jar} contains only the
 * libraries of that stack and no PostgreSQL, so that jar sizes and memory can be compared. It uses the shared
 * database that another process ({@code weir-backends-sim.jar --sim.stack=postgres}) has started, or the
 * external one at {@code sim.database.url}.
 *
 * <h2>The overloaded backend</h2>
 * {@code --sim.pool.workers=10 --sim.pool.service-time=50ms --sim.pool.queue-capacity=-1} makes {@code /work}
 * a backend that serves 200 requests per second, queues every further request, and also serves requests whose
 * callers have left.
 */
@NullMarked
package io.weir.sim;

import org.jspecify.annotations.NullMarked;
