/**
 * The two doors through which requests reach the engine.
 *
 * <p>Users write Spring Cloud Gateway routes. {@link io.weir.door.FrontDoor} precedes WebFlux's handler and
 * looks for the first route that matches, in Spring Cloud Gateway's order. If all predicates and filters of
 * that route are the usual ones of an edge proxy, {@link io.weir.door.RouteCompiler} has compiled it when the
 * configuration was read, and the compiled door serves it: one match, one pass over the head, the engine. The
 * general door serves every other route, and every request for which only Spring Cloud Gateway can evaluate
 * an earlier route's predicates. Such a request runs through Spring Cloud Gateway's filter chain, and enters
 * the same engine at its end, in {@link io.weir.door.BackendRoutingFilter}, which replaces
 * NettyRoutingFilter.
 *
 * <p>Why two doors: Spring Cloud Gateway copies the head several times, sorts filters and builds URIs for
 * each request. In measurements, the compiled door forwards more than twice as many requests per second. Why
 * not only the compiled door: users keep every feature of Spring Cloud Gateway. The compiled door is a
 * shortcut, not a second framework; one differential test suite checks that both behave the same. A request
 * gets Spring's view of it ({@link io.weir.door.SpringView}) only where a predicate or the general door needs
 * it, and where only Spring's check of the target tells whether it is a URI.
 *
 * <p><b>Weights.</b> {@link io.weir.door.WeightedGroups} evaluates Spring Cloud Gateway's predicate Weight
 * for both doors, with one draw for each request. A draw of each door would change the shares where a request
 * passes from the compiled door to the general one.
 *
 * <p>{@link io.weir.door.RouteExplainer} tells an operator which route a request takes, and why not another,
 * without serving it. It asks Spring Cloud Gateway's predicates for the routes of both doors, because those
 * exist for every route, one by one, and know how they were configured; a second text for each compiled
 * predicate would be a second truth.
 *
 * <p>A response filter runs after the backend's head has arrived and before the body is written: the routing
 * filter completes at the head, and {@link io.weir.door.BackendAnswerFilter}, outside all route filters,
 * writes the body. In both doors, no response filter processes the gateway's own refusals.
 *
 * <p>{@link io.weir.door.AnswerRules} change responses in the same way in both doors: CORS fields are written
 * with the head, on refusals too, and compression comes after all filters. {@link io.weir.door.Preflight}
 * answers preflight requests before there is an exchange. {@link io.weir.door.HttpsRedirect} serves the port
 * without TLS.
 *
 * <p>A response is recorded by its last frame: on HTTP/1 by the flush of the connection, on HTTP/2 by {@link
 * io.weir.edge.StreamEndHandler}, because a stream closes before Reactor Netty reports the flush.
 *
 * <p>The front door removes the fields that only the gateway may set
 * ({@link io.weir.authentication.ReservedFields}) before it looks for the route, so that no predicate or
 * filter sees a forged one. They are written after the filters.
 *
 * <p>Concurrency: all routes, compiled and general, belong to one immutable {@link io.weir.door.Routes}. A
 * request reads the reference once and keeps it.
 */
@NullMarked
package io.weir.door;

import org.jspecify.annotations.NullMarked;
