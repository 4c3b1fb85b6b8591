/**
 * The engine: one state machine per exchange, from admission to the last byte.
 *
 * <p>An {@link io.weir.engine.Exchange} takes a caller's request through its backend's compartment: deadline, breaker, bulkhead, breaker
 * again, pool. It knows no web framework: a door presents the caller's side as a {@link io.weir.engine.Caller}, and the backend's side is Reactor Netty's
 * client. Everything about a route and its backend hangs on two immutable objects, {@link io.weir.engine.Route} and {@link io.weir.engine.Backend}, which
 * an exchange takes hold of when it begins and keeps to its end, so that configuration can be swapped under it.
 *
 * <p>Why a state machine and not a chain of operators: whoever cancels, fails, times out or completes may come at any moment and
 * on any thread, and every permit, permission, connection and buffer must be given back exactly once whatever the order is. In one class confined to one
 * event loop that is a question of reading one switch; in a chain of operators it is a question of how eight of them
 * propagate cancellation.
 *
 * <p>The breaker is fed here, since only here it is known whose fault an end was: the time that the caller took to bring the
 * request or to take the answer is told apart by {@link io.weir.engine.Relay}.
 *
 * <p>Limitations: the connection to the backend may live on another event loop than the caller's; then every signal hops.
 */
@NullMarked
package io.weir.engine;

import org.jspecify.annotations.NullMarked;
