/**
 * Applies a configuration: plans every part that can fail, commits all parts at once, and retires the parts
 * that they replace.
 *
 * <h2>What it protects against</h2>
 *
 * A half-applied change, such as new routes with old limits, or a valid route from a file with an invalid
 * backend. A change that interrupts traffic: lost breaker states, closed connections, permits that are
 * counted twice or never returned.
 *
 * <h2>Algorithm</h2>
 *
 * {@link io.weir.apply.ConfigurationApplier} changes a running gateway in three phases.
 *
 * <ol>
 *   <li><b>Plan.</b> {@link io.weir.apply.RoutesFactory} creates Spring Cloud Gateway's routes and
 *       compiles the front door's. {@link io.weir.apply.LiveBackends} plans the backends: {@link
 *       io.weir.apply.BackendFactory} creates new backends, and successors of changed ones, with pools, TLS
 *       contexts and meters. All of this can fail. If a step fails, the plan is rolled back, and the
 *       configuration in force is unchanged.
 *   <li><b>Commit.</b> Shared parts change in place: bulkheads are resized, breakers get their new settings,
 *       meters show the new parts. Then one write publishes the new routes of both doors
 *       ({@link io.weir.door.LiveRoutes}). A request reads that reference once, when it arrives, and uses the
 *       same routes to its end. A failure in this phase or later is logged and does not stop the other steps:
 *       nothing is rolled back.
 *   <li><b>Retire.</b> {@link io.weir.apply.RetiredGenerations} keeps the replaced routes until no request
 *       uses them, and closes each replaced pool and meter when no request can reach it any more.
 * </ol>
 *
 * <h2>Instances that come and go</h2>
 *
 * {@link io.weir.apply.AddressSources} creates the source of each backend's addresses. Those that a reload
 * adds are asked before the plan, without a lock, for at most five seconds in all; a backend without an
 * answer then has no address yet. A change of the addresses is planned and committed like a change of the
 * configuration, for one backend and without new routes: the backend's instances change in place, also for
 * requests of earlier generations. While a plan is pending, changes of addresses wait for its end; otherwise
 * the plan could put an instance back in force whose pool is being closed. A pool that left is closed once no
 * exchange in flight uses it. {@code RetiredGenerations} asks the engine for the pools in use, on each event
 * loop; so a call costs nothing more than without this. If the instance has left, its exchanges end within
 * the drain time-out.
 *
 * <p>An instance that stays keeps its pool and its health. If it becomes one of several, or the only one, its
 * state moves between its own health and the backend's, except that an operator's drain of one instance does
 * not force the whole backend. An operator's switch of the backend also applies to instances that come.
 *
 * <h2>State that survives a change</h2>
 *
 * Bulkheads are resized in place, so permits in use stay counted and waiting calls move up. An adaptive limit
 * keeps its measurements, also while an operator's number replaces it. A breaker with equal settings keeps
 * its state and its window. If only figures differ that are derived from the deadline or the limit, it keeps
 * its state and starts with an empty window. If its own settings differ, it starts closed with an empty
 * window; a state that an operator forced stays forced even then, and an instance that an operator drained
 * stays drained while its address stays. A pool stays unless the address, the protocol or the {@code
 * connection} properties change; its capacity grows with the permits. The time series of a route or backend
 * continue as long as its name exists. {@link io.weir.apply.RouteRecorder} is the part of a route that writes
 * them.
 *
 * <h2>Concurrency</h2>
 *
 * {@link io.weir.reload.LiveConfiguration} serialises changes. Requests never wait for one: they read one
 * volatile reference. Backends are guarded by the monitor of {@link io.weir.apply.LiveBackends}, since the
 * number of gateways in the cluster changes limits on another thread. The sweep of retired generations runs
 * on a thread of its own.
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>Spring Cloud's {@code @RefreshScope} and {@code RefreshRoutesEvent}: they rebuild beans one by one
 *       and asynchronously, so a request can meet a mixture of new and old beans; and they never close old
 *       pools.
 *   <li>Closing replaced parts after a fixed time: the time either cuts off a stream or is as long as the
 *       longest stream.
 *   <li>A reference count per generation: one long stream would keep all parts of all later generations open.
 *       The sweep marks only the parts that routes in use can reach, and closes the others.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * A route without an id gets another id with every change, and so new meters. A change while the gateway
 * drains is refused.
 */
@NullMarked
package io.weir.apply;

import org.jspecify.annotations.NullMarked;
