/**
 * The two doors by which requests reach the engine.
 *
 * <p>Users write Spring Cloud Gateway routes. {@link io.weir.door.FrontDoor} stands in front of WebFlux's handler and looks for the first
 * route that matches, in Spring Cloud Gateway's order. If it is one whose predicates and filters are the usual ones of an edge, {@link
 * io.weir.door.RouteCompiler} has compiled it when the configuration was read, and it is served from there: one match, one pass over the head,
 * the engine. If it is not, or might be another one whose predicates only Spring Cloud Gateway can evaluate, the request goes
 * through Spring Cloud Gateway's chain as usual and enters the same engine at its end, in {@link io.weir.door.BackendRoutingFilter}, in place of
 * NettyRoutingFilter.
 *
 * <p>Why two: Spring Cloud Gateway copies the head several times, sorts filters and builds URIs for each request; measured, the
 * compiled door forwards more than twice as many requests a second. Why not only the compiled one: everything that
 * Spring Cloud Gateway can do is still there. The compiled door is a shortcut, not a second framework; one differential test suite holds
 * both to the same behaviour.
 *
 * <p>A response filter runs when the backend's head is there and before the body is written: the routing filter completes at the head, and
 * {@link io.weir.door.BackendAnswerFilter}, outside all route filters, writes the body. The gateway's own refusals pass no response filter, in
 * either door.
 *
 * <p>Concurrency: routes, compiled and not, hang on one immutable {@link io.weir.door.Routes}, taken hold of once per request.
 */
@NullMarked
package io.weir.door;

import org.jspecify.annotations.NullMarked;
