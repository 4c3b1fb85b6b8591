/**
 * The engine: one state machine per exchange, from admission to the last byte.
 *
 * <p>An {@link io.weir.engine.Exchange} takes a caller's request through its backend's compartment: deadline, breaker, bulkhead, breaker
 * again, pool. It knows no web framework: a door presents the caller's side as a {@link io.weir.engine.Caller}, and the backend's side is Reactor Netty's
 * client. Everything about a route and its backend hangs on two immutable objects, {@link io.weir.engine.Route} and {@link io.weir.engine.Backend}, which
 * an exchange takes hold of when it begins and keeps to its end, so that configuration can be swapped under it.
 *
 * <p>The exchange itself is only the phases: what follows on what, and that it ends once. What there is to hold in a phase, and to decide, has a class of
 * its own, which says when it next has to be looked after, and gives back what it holds when it is told to end:
 *
 * <pre>
 *  Budget     the deadline and the timer                                    the whole exchange
 *  Admission  breaker (a look), route's limit, queue, permit                each backend that is asked
 *  Attempt    the connection; what the backend does, and what follows       each try
 *   Verdict   the breaker's permission: what the try says of the backend
 *   Relay     a body as it passes: the request's up, the answer's down
 *   Collector a small answer's body, taken whole
 *  Delivery   whether the caller takes its answer                           from the answer's head on
 *  Standby    the fallback and its permit                                   from a refusal on
 *  Account    what there is to tell                                         the whole exchange
 * </pre>
 *
 * <p>Why a state machine and not a chain of operators: whoever cancels, fails, times out or completes may come at any moment and
 * on any thread, and every permit, permission, connection and buffer must be given back exactly once whatever the order is. Confined to one
 * event loop, with one place at which everything ends, that is a question of reading one class; in a chain of operators it is a question of how eight of them
 * propagate cancellation.
 *
 * <p>The breaker is fed here, since only here it is known whose fault an end was: the time that the caller took to bring the
 * request or to take the answer is told apart by {@link io.weir.engine.Relay}.
 *
 * <p>Who wants to follow an exchange's steps gives it an {@link io.weir.engine.ExchangeTrace} when it begins, by its route's {@link
 * io.weir.engine.RouteObserver}.
 *
 * <p>Limitations: the connection to the backend may live on another event loop than the caller's; then every signal hops. A caller who has all
 * that {@code Content-Length} declared, and leaves before the gateway knows that it is all, may be told of as one who has left.
 */
@NullMarked
package io.weir.engine;

import org.jspecify.annotations.NullMarked;
