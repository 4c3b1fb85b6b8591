/**
 * External authorization: another backend, the authorizer, decides whether a request may use its route.
 *
 * <p>The contract is that of nginx's {@code auth_request}, Traefik's forward authentication and Envoy's HTTP
 * {@code ext_authz}, so that their authorizers work unchanged: a GET without a body, with some of the
 * request's fields; a status of 2xx allows.
 *
 * <p><b>Decision.</b> {@link io.weir.authorization.AuthorizationRule} decides by the status of the answer.
 * 2xx allows. 3xx, such as the way to a login, and 4xx deny: the caller gets that answer. Everything else,
 * and a call without an answer, is a failure of the authorizer. Rejected: to take a 4xx other than 401 and
 * 403 as a failure, as nginx does. With {@code on-failure: pass}, a 400 for a malformed token would let its
 * sender in.
 *
 * <p><b>Containment.</b> The authorizer is a backend like any other, with a compartment of its own: limit,
 * queue, breaker, pool and deadline. The engine asks it before the request takes anything of the route's
 * backend, so an authorizer that hangs holds nothing there; once its breaker is open, it costs its callers
 * no time. The backend of the route cannot be its authorizer: their permits would be the same.
 *
 * <p><b>Order.</b> After the caller's address, its proof of identity, its quota and its deadline, before the
 * body is read: a caller over its quota costs the authorizer nothing. A route's own answer and its fallback
 * are given only to requests that are allowed. Rejected: to ask only while the breaker of the route's backend
 * is closed. It would tell callers without a right that the backend is down, and make probes of their
 * requests.
 *
 * <p><b>Fields.</b> {@code headers-out} reach the backend from the authorizer only. A caller's own fields of
 * these names are removed in every spelling, after the route's filters, also if the authorizer sends none and
 * if it has failed: else a caller could name itself.
 *
 * <p><b>Cache.</b> {@link io.weir.authorization.AuthorizationCache} keeps answers only where a route asks for
 * it, and by fields that its operator names. By default an answer serves the same request only, since most
 * authorizers decide by method and path, too. Failures are never kept, and no answer serves beyond its time
 * while the authorizer is down: that would extend rights that may be revoked. Rejected: the directives of
 * RFC 9111 other than {@code no-store}. Authorizers seldom send them for calls of proxies.
 *
 * <p><b>Limitations.</b> The caller's body is never sent. Fields of an answer that allows, such as {@code
 * Set-Cookie}, do not reach the caller. No gRPC interface of Envoy's. A caller can still send the fields
 * through another route to the same backend that asks no authorizer.
 */
@NullMarked
package io.weir.authorization;

import org.jspecify.annotations.NullMarked;
