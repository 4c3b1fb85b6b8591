/**
 * Rate limits: a quota of requests for each caller of a route.
 *
 * <p>It protects backends and other callers from one caller who sends more than its share. A bulkhead bounds
 * the calls at one time and does not tell callers apart; a rate limit bounds the requests of each caller over
 * a time.
 *
 * <p>The algorithm is the token bucket of Bucket4j: a bucket has {@code burst} permits, each request takes
 * one, and {@code permits} return evenly in each {@code period}. Bucket4j's local bucket is one atomic
 * reference with integer arithmetic: no lock, no timer, no thread. Rejected alternatives: a fixed window lets
 * through twice its quota around its boundary; a sliding log needs memory for each request;
 * Resilience4j's rate limiter has fixed windows, and one thread parks in its wait.
 *
 * <p>{@link io.weir.ratelimit.RateLimiter} takes a permit for a request and returns a
 * {@link io.weir.ratelimit.Quota}. The engine asks it once for each exchange, after the gateway's own
 * protection and before the breaker, the permit and the body; retries, fallbacks and the messages of a
 * WebSocket take no more. An upgrade counts as one request. A refusal is the caller's doing: it is no
 * evidence against the backend, no sample of the limit, and no shed load. Answers and refusals tell the quota
 * in the fields RateLimit-Policy and RateLimit, as of draft-ietf-httpapi-ratelimit-headers-10: {@code r} is
 * the number of permits in the bucket, {@code t} the time until the next one returns.
 *
 * <p><b>Keys.</b> {@link io.weir.ratelimit.RateLimitKey} derives the key from the head as received, so both
 * doors read the same. IPv6 addresses count by their network of 64 bits, since one caller has all addresses
 * in it. Requests without the header field share one bucket: otherwise a caller would escape its quota by
 * leaving the field out.
 *
 * <p><b>Memory.</b> Callers choose keys, so {@link io.weir.ratelimit.Buckets} bounds them. A full bucket
 * carries no information, and is forgotten after the time that an empty one needs to fill. At the bound, the
 * keys that were not used for longest are forgotten; they have a full bucket again. So the bound can let
 * too many requests through and never refuses one wrongly. A caller is forgotten only if half of
 * {@code max-keys} other keys come between two of its requests, so a frequent caller keeps its bucket.
 * Rejected alternative: Caffeine; its writers take a lock, or wait for the lock, when its write
 * buffer is full, which a flood of new keys causes on an event loop.
 *
 * <p><b>Reload.</b> A limit that has not changed keeps its buckets, as does one whose {@code enforce} alone
 * has changed. Any other change starts with full buckets.
 *
 * <p>Limitations: each gateway counts by itself, so that several gateways together let through a multiple. A
 * claim of a token cannot be a key: the gateway does not verify tokens. A caller can choose the value of any
 * header field that no proxy in front of the gateway sets or verifies. On the general door, Spring Cloud
 * Gateway's filters run before the limit.
 */
@NullMarked
package io.weir.ratelimit;

import org.jspecify.annotations.NullMarked;
