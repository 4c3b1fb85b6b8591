/**
 * A second chance for requests that may be sent twice, within bounds that keep a failing backend from being buried.
 *
 * <p>Tried again is only what is safe and useful: a request of which nothing was sent, or an idempotent one (RFC 9110, section
 * 9.2.2) without a body; never after the answer has begun, never one of the gateway's own refusals. Every attempt is within the
 * exchange's deadline, under the exchange's one permit, and asks the breaker anew: an opening breaker ends them.
 *
 * <p>{@link io.weir.retry.RetryBudget} bounds retries by a share of the traffic and a small floor, after Finagle's
 * {@code RetryBudget}: at 20 percent, a backend that fails everything sees a fifth more load, not a multiple.
 *
 * <p>Concurrency: the budget is one atomic long, a balance in millionths of a retry.
 */
@NullMarked
package io.weir.retry;

import org.jspecify.annotations.NullMarked;
