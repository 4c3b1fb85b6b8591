/**
 * Rate limits: a quota of requests for each caller of a route; and the limit on its calls at one time.
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
 * leaving the field out. A claim names the caller together with the token's issuer, since two issuers may
 * know callers of the same name; requests whose token lacks the claim share one bucket, too. The rate limit
 * does not refuse them: {@code authentication.claims} does, where a route requires the claim. The engine
 * verifies the token before it asks for the quota, so that a forged token uses up no quota of its owner.
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
 * or {@code shared} alone has changed. Any other change starts with full buckets. Calls under way count on,
 * unless their key changes.
 *
 * <p><b>Calls at one time.</b> {@link io.weir.ratelimit.CallsPerKey} bounds the permits and the places in the
 * queue that one caller holds: a quota does not bound the calls of a caller whose calls hang. A call counts
 * from the moment at which it would ask for a permit until its permits return, also while it waits, and while
 * it is a stream. Between two attempts it does not count. Without a cap, one caller can hold all permits of a
 * route; {@code fairness.key} shares the queue of a backend, but takes no permit back from calls that hang. A
 * key has an entry only while it has calls, so the memory is bounded by the calls under way, and nothing is
 * forgotten. A refusal is the caller's doing, and no sample of the limit. Its reason is
 * {@code bulkhead-full}, since a place is missing and not a quota.
 *
 * <p><b>All gateways together.</b> A limit that is {@code shared} takes its permits in Redis
 * ({@link io.weir.ratelimit.RedisBuckets}): a script, which Redis runs atomically, takes a permit in one
 * round trip. It is the generic cell rate algorithm (ITU-T I.371), which lets through exactly what a token
 * bucket lets through, and has one number as its state: the moment at which the bucket is full. The clock is
 * Redis' own, so the clocks of the gateways do not matter. The key expires at that moment. Rejected
 * alternatives:
 *
 * <ul>
 *   <li>Bucket4j's bucket in Redis: it reads the state, computes in the gateway, and writes by
 *       compare-and-swap. That is two round trips for each request and four for a new key, and gateways that
 *       use the same key repeat them until one of them wins.
 *   <li>Spring Data Redis and Spring Cloud Gateway's RedisRateLimiter: seven more libraries, and a caller
 *       waits for Redis as long as a command may take.
 *   <li>Permits in advance for each gateway: a gateway with few requests keeps permits from the others.
 * </ul>
 *
 * <p>The exchange waits for the answer without a thread, at most for
 * {@code weir.rate-limit.redis.timeout}. Then, or when the answer is an error, the local bucket decides,
 * as it does without Redis. {@link io.weir.ratelimit.SharedAvailability} ends the waiting after five
 * failures in a row; a probe each second finds Redis again. A server that answers the probe as one that
 * cannot count is left: a primary that has become a replica ({@code READONLY}) keeps its connections, and
 * the name leads to the new one. The same holds for {@code LOADING}, {@code MASTERDOWN},
 * {@code CLUSTERDOWN} and {@code NOREPLICAS}. Each turn of the timer connects once, and each connection
 * looks the name up in DNS, without a cache. A permit that Redis grants after the time-out is used up.
 * Local and shared buckets do not know of each other, so a caller may have its burst once more when Redis
 * goes or comes back. Nothing of Lettuce is loaded unless Redis is configured.
 *
 * <p><b>Redis Cluster</b> ({@link io.weir.ratelimit.RedisClusterBuckets}): the script has one key, so it
 * runs in the node of the key's slot, and Lettuce's client of clusters finds that node. Each node has its
 * own availability and probe: a node that is down concerns the keys of its slots alone, and nobody waits
 * for it. Lettuce reads the nodes and their roles again after ten seconds, and after an answer that moves
 * a key. The gauge of the counter shows the share of the slots whose node answers. Rejected alternative: a
 * connection of our own to each node; it would have to follow slots that move.
 *
 * <p>Limitations: without Redis, several gateways together let through a multiple. In a cluster that requires
 * full coverage, one lost node without a replica ends the common count of all keys. A caller can choose the
 * value of any header field that no proxy in front of the gateway sets or verifies. A request that
 * authentication refuses takes no permit: no rate limit bounds invalid tokens. On the general door, Spring
 * Cloud Gateway's filters run before the limit.
 */
@NullMarked
package io.weir.ratelimit;

import org.jspecify.annotations.NullMarked;
