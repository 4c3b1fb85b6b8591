/**
 * Retries of requests that may be sent twice, within bounds that protect a failing backend from additional
 * load.
 *
 * <p>A retry must be safe and useful. Retried are requests of which nothing was sent, and idempotent requests
 * (RFC 9110, section 9.2.2) without a body. Never retried are requests whose answer has begun, and the
 * gateway's own refusals. All attempts share the exchange's deadline and its one permit. Each attempt asks
 * the breaker again: an opening breaker ends the retries.
 *
 * <p>{@link io.weir.retry.RetryBudget} limits retries to a share of the traffic and a small floor, after
 * Finagle's {@code RetryBudget}: at 20 percent, a backend that fails every request receives a fifth more
 * load, not a multiple.
 *
 * <p>Concurrency: the budget is one atomic long, a balance in millionths of a retry; beside it is one atomic
 * long for the floor.
 */
@NullMarked
package io.weir.retry;

import org.jspecify.annotations.NullMarked;
