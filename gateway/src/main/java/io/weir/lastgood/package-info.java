/**
 * The last good answer of a route: {@code weir.routes.<id>.last-good}.
 *
 * <p><b>Purpose.</b> An open breaker protects the backend, and its callers get a 503. For most GETs an
 * answer of five minutes ago would serve them better. This is no cache for performance: a healthy backend
 * always answers by itself.
 *
 * <p><b>Use.</b> A stored answer replaces a refusal that the backend causes (circuit-open, bulkhead-full,
 * queue-timeout, queue-evicted, deadline-exceeded, connect-timeout, connect-failed, connection-lost, an
 * injected fault with a status of 5xx), and an answer of the backend with a status of 5xx after the last
 * retry. It precedes a static fallback and follows a fallback backend, whose answer is fresh. Never
 * gateway-overloaded and shutting-down: these are decided before the caller's address and token are checked.
 *
 * <p><b>What is kept.</b> {@link io.weir.lastgood.AnswerTerms} has the rules of RFC 9111 for a shared cache.
 * Answers to requests with {@code Authorization} or {@code Cookie} are kept if they say {@code public}, or
 * if {@code key-headers} names the field; only such answers go to requests with these fields. An answer
 * without {@code Cache-Control} is kept: the operator's configuration is the contract that RFC 9111, 4.2.4,
 * asks for before stale answers are used. {@code must-revalidate}, {@code proxy-revalidate} and {@code
 * s-maxage} end the use with the freshness, {@code stale-if-error} so much later; it also extends {@code
 * s-maxage}, as RFC 5861 says. Of the request's directives only {@code no-store} counts; the others are
 * advisory, and a reload of a page sends {@code max-age=0}.
 *
 * <p><b>The key.</b> {@link io.weir.lastgood.RequestKey} takes the request as the backend sees it, after the
 * normalisation of the path and after all filters. An ordinary cache ignores the request fields that {@code
 * Vary} does not name. If a backend reacts to one of them, a caller can place an answer for all others. Here
 * each field is part of the key unless it is known to select nothing, or browsers send it and {@code Vary}
 * is there for it ({@code Accept-Language}, {@code User-Agent}). Rejected: to keep no answer to a request
 * with an unknown field. Applications send fields of their own, and would have no last good answers.
 *
 * <p><b>Recording.</b> {@link io.weir.lastgood.LastGoodRecording} copies each buffer once while it goes to
 * the caller. Rejected: keeping the backend's buffers, since a small answer would pin a large buffer outside
 * the heap. Only a complete answer is kept; one that ends with its connection cannot be known to be
 * complete. The memory of recordings is bounded, too.
 *
 * <p><b>Partial and conditional requests.</b> A Range gets the whole answer with 200, which RFC 9110, 14.2,
 * permits every server; a 206 is never kept. {@code If-None-Match} and {@code If-Modified-Since} get a 304;
 * {@code If-Match} and {@code If-Unmodified-Since} are for the origin only. An encoded answer is kept as if
 * it said {@code Vary: Accept-Encoding}.
 *
 * <p><b>Concurrency.</b> Caffeine, bounded by weight. Its reads take no lock. Its writes may wait for its
 * maintenance, so they run in the common pool and not on an event loop.
 *
 * <p><b>A reload</b> keeps the answers of a route ({@link io.weir.lastgood.AnswerSpace}) as long as it has
 * the property, the same {@code key-headers} and the same backend.
 *
 * <p><b>Limitations.</b> The backend's fields decide, and not those that a response filter of the route
 * writes. A 304 of the backend does not renew a stored answer. After a restart the store is empty; each
 * gateway has its own.
 */
@NullMarked
package io.weir.lastgood;

import org.jspecify.annotations.NullMarked;
