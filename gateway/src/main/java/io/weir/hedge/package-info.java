/**
 * Hedging: a second attempt, at another instance, for a call whose answer is late.
 *
 * <p>It protects callers against single slow answers: a pause of one instance, a cold cache, a lost packet.
 * It is no protection against a slow backend, to which it would add load. This package has the rule that is
 * apart from the exchange: after what time ({@link io.weir.hedge.HedgePolicy}), learnt by {@code
 * AnswerTimes}, and the words for what comes of it ({@link io.weir.hedge.HedgeResult}). {@code
 * io.weir.engine.HedgeCheck} decides whether the backend can bear it, and {@code io.weir.engine.Hedging} runs
 * it.
 *
 * <p>The algorithm is that of Dean and Barroso, <i>The Tail at Scale</i> (Communications of the ACM, 2013):
 * the second request is sent once the first one has waited for the 95th percentile of the usual times, which
 * limits the additional load to about 5 %. In addition it is paid from the retry budget, needs a free permit,
 * and is not sent while calls wait, or anything of the backend recovers: load is what such a backend cannot
 * bear.
 *
 * <p><b>What is measured.</b> The time from the start of the first attempt to the head of the answer, also if
 * the second attempt has answered. The second attempt's own time would be wrong: a call that is slow at its
 * first instance would count as a fast one, the percentile would fall, and more and more calls would be sent
 * twice. As it is, a hedged call counts as one that took longer than the percentile, which is all that the
 * percentile needs to know of it. Only calls that may be hedged are measured, and only good answers.
 *
 * <p>Rejected alternatives:
 *
 * <ul>
 *   <li>The route's {@code UsualTime}, a median of whole answers: its histogram is halved to nothing where
 *       slow answers are rare, it needs five answers only, and a large body would be part of the time.
 *   <li>A stochastic approximation of the percentile, which needs no histogram: where answers hardly differ,
 *       it settles among them, so that 5 % of the calls are sent twice for nothing. A bucket has an end.
 *   <li>Other percentiles: p90 doubles the load, and for rare slow answers a fixed time is as good as p99.
 * </ul>
 *
 * <p>Limitations: a percentile is not forgotten without traffic. A backend may go on with a cancelled call.
 * The time to the head includes the wait for a connection.
 */
@NullMarked
package io.weir.hedge;

import org.jspecify.annotations.NullMarked;
