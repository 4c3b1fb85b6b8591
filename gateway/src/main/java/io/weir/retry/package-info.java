/**
 * Retries of requests that may be sent twice, within bounds that protect a failing backend from additional
 * load.
 *
 * <p>A retry must be safe and useful. Retried are requests of which nothing was sent, and idempotent requests
 * (RFC 9110, section 9.2.2) without a body. Never retried are requests whose answer has begun, the gateway's
 * own refusals, and failures of the gateway's own machine. All attempts share the exchange's deadline. Each
 * attempt asks the breaker again: an opening breaker ends the retries.
 *
 * <p>A request that was provably not sent, because the backend refused the connection or had closed it before
 * the head was written, is tried once more without any configuration, within the same budget.
 *
 * <p>The backend's {@code Retry-After} ({@link io.weir.retry.RetryAfterField}) is a lower bound of the
 * backoff. If the deadline is earlier, the caller gets the answer at once.
 *
 * <p><b>Permits.</b> A failed attempt returns its permits. After the backoff the exchange requests permits
 * anew, behind the calls that came meanwhile: a call that waits for its own retry must not keep a place from
 * calls that could use it. An answer that is retried is first drained, up to 64 KB and 50 ms from its head,
 * so that its connection can be reused; the permits return at the end of the drain, since until then the
 * backend works for the call. Beyond these bounds the connection is closed.
 *
 * <p><b>No further attempt.</b> If the next attempt gets no permit, is refused by the breaker, or the
 * deadline passes while it waits, then the retry has changed nothing: the caller gets the result of the last
 * attempt. That is the reason of its failure (which a fallback may replace), or its answer. An answer is kept
 * for that up to 8 KB and without trailers; a copy, so that no buffer of the backend is held. If the answer
 * is not kept, the caller gets the refusal that ended the retry. The alternative, to ask for the permit
 * before the first result is dropped, would hold the permit over the backoff.
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
