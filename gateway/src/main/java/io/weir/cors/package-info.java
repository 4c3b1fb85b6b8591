/**
 * Cross-origin resource sharing (the Fetch standard, 3.2) for single routes: {@code weir.routes.<id>.cors}.
 *
 * <p>A browser asks before certain requests of a page of another origin, with a <em>preflight request</em>:
 * {@code OPTIONS}, with {@code Access-Control-Request-Method}. The gateway answers it, and the backend does
 * not see it: no permit, no breaker, no quota. The route is found by the method that the browser asks for,
 * not by {@code OPTIONS}, so a predicate {@code Method=POST} finds its preflight requests. A preflight
 * request has none of the fields of the request that it announces: a route whose predicates need those is not
 * found, and the preflight request goes on like any other request.
 *
 * <p>{@link io.weir.cors.CorsRule} decides, with Spring's {@code CorsConfiguration}. A refused preflight
 * request gets 403 {@code forbidden}, as from Spring.
 *
 * <p>The request itself always passes. If its origin is not allowed, the response has no CORS fields, and the
 * browser keeps it from the page. Spring refuses such a request with 403; but a browser also sends {@code
 * Origin} with a POST to its own site, and behind a proxy a server cannot be sure which site that is. CORS
 * protects users of browsers; it does not protect the backend, which anybody can call without a browser.
 *
 * <p>The gateway's fields replace those of the backend, so that none is doubled. Its own refusals carry them
 * too: without them, the page sees a network error in place of a 503 with {@code Retry-After}.
 *
 * <p>{@code Vary: Origin} is on every response of the route, with and without {@code Origin}, since a cache
 * must not give one origin the response to another. A route that allows every origin without credentials
 * sends {@code *} to all, and needs no {@code Vary}.
 */
@NullMarked
package io.weir.cors;

import org.jspecify.annotations.NullMarked;
