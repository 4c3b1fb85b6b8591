/**
 * Retries of requests that may be sent twice, within bounds that protect a failing backend from additional
 * load.
 *
 * <p>A retry must be safe and useful. The gateway retries requests of which nothing was sent, and idempotent
 * requests (RFC 9110, section 9.2.2) without a body. It never retries a request whose answer has begun, nor
 * one that the gateway itself refused, nor one for which the gateway had no file, port or memory left. All
 * attempts share the exchange's deadline. The breaker admits or refuses each attempt anew, so a breaker that
 * opens ends the retries.
 *
 * <p>A request that was provably not sent, because the backend refused the connection or had closed it before
 * the head was written, is tried once more without any configuration, within the same budget.
 *
 * <p>The backend's {@code Retry-After} ({@link io.weir.retry.RetryAfterField}) and gRPC's pushback ({@link
 * io.weir.retry.PushbackField}) are a lower bound of the backoff, also of the retries of other calls while no
 * instance takes any ({@code recovery.max-pushback}). If the deadline is earlier, the caller gets the answer
 * at once. A negative pushback of gRPC forbids the retry.
 *
 * <p><b>Permits.</b> A failed attempt returns its permits. After the backoff the exchange requests permits
 * again, behind the calls that came meanwhile: during its backoff a call must not hold a permit that another
 * call can use. The answer of a failed attempt is drained first, up to 64 KB and for 50 ms from its head, so
 * that its connection can be reused. The permits return at the end of the drain, since until then the backend
 * works for the call. Beyond these bounds the connection is closed.
 *
 * <p><b>No further attempt.</b> If the next attempt gets no permit, is refused by the breaker, or the
 * deadline passes while it waits, then the caller gets the result of the last attempt. The result is the
 * reason of the failure (which a fallback may replace), or the answer. For this an answer of up to 8 KB
 * without trailers is kept, as a copy, so that no buffer of the backend is held. If the answer is not kept,
 * the caller gets the refusal that ended the retry. The alternative, to request the next permit before the
 * answer is dropped, would hold that permit during the backoff.
 *
 * <p>{@link io.weir.retry.RetryBudget} limits retries to a share of the traffic and a small floor, after
 * Finagle's {@code RetryBudget}: at 20 percent, a backend that fails every request receives a fifth more
 * load, not a multiple.
 *
 * <p><b>One caller is not all of them.</b> A caller whose calls all fail, such as by a defect of its own,
 * would use up the budget of the others. While the balance is below half of its cap, or the floor below half
 * of a second's, a caller gets a retry only if it has had no more of them than the mean of the callers who
 * needed one in the last half minute ({@link io.weir.retry.RecentRetries}, an exponential average over about
 * a second). The retries are the same in number: what is kept is half of a burst, not a part of the rate.
 * Callers are told apart as for evidence: by the tenant, else by the address, or the network of an IPv6
 * address. A call without a retry costs nothing. Where nobody else needs retries, one caller has all of them.
 * Measured over 5 minutes with a caller of 100 calls/s that all fail, and 100 others with 1 call/s and 1 %
 * failures each: the others get 99 % of their retries, and 42 % without this rule ({@code
 * RetrySharesTest}). Rejected: a balance for each caller, which must count each call; a fixed share for each
 * caller, which leaves a part unused or takes all of it.
 *
 * <p>Concurrency: the budget is one atomic long, a balance in millionths of a retry; beside it is one atomic
 * long for the floor, and one for each of 128 groups of callers.
 */
@NullMarked
package io.weir.retry;

import org.jspecify.annotations.NullMarked;
