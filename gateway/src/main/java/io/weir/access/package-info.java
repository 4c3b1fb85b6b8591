/**
 * The callers that may use a route, by their address: lists of networks that are allowed and denied.
 *
 * <p>{@link io.weir.access.AddressRule} decides at the start of an exchange, before the rate limit: a caller
 * that may not use the route costs no permit of its quota, no permit of the backend, no probe and no byte of
 * the body. It is refused with {@code forbidden} (403), which is no evidence against the backend.
 *
 * <p>The address is the edge's own: of the connection, or the address that trusted proxies report. See
 * {@link io.weir.edge.Forwarding}. A caller can forge neither.
 *
 * <p>A denied network wins over an allowed one, as in nginx's and Envoy's usual configurations, so that one
 * host of an allowed network can be shut out. A caller without an address is refused: nothing shows that it
 * is not denied.
 *
 * <p>Spring Cloud Gateway's predicate {@code RemoteAddr} is no replacement: a route that does not match
 * leads to the next route, or to 404.
 */
@NullMarked
package io.weir.access;

import org.jspecify.annotations.NullMarked;
