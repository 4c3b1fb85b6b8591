/**
 * Stops calls to a failing backend, and detects when it has recovered.
 *
 * <p>{@link io.weir.health.Health} is a small state machine with one atomic, immutable state that owns its
 * data: {@code CLOSED}, {@code OPEN}, {@code HALF_OPEN}, and two states that an operator forces. Resilience4j
 * is the ledger and the face. Its windows compute the rates, its property names configure them, and its
 * registry, meters, events and endpoints show the state ({@link io.weir.health.RegisteredBreaker}). The state
 * changes are decided here, because Resilience4j's half-open state needs a number of calls within a time: at
 * six calls every six seconds it never closed again.
 *
 * <p><b>Closed to open.</b>
 *
 * <ul>
 *   <li><i>Failing</i>: the failure rate of the last 100 calls, none older than 60 s and at least 20, reaches
 *       its threshold.
 *   <li><i>Stalled</i>: no final answer head has arrived while at least {@code stall-calls} calls that were
 *       sent since the last one have each waited for {@code stall-duration}. So a hang opens the breaker
 *       while its calls hang, at any traffic; and a few slow calls among fast ones open nothing, however many
 *       there are, since every answer ends the stall. A caller who leaves counts if its call had waited for
 *       three times the route's usual time: otherwise a hang would be invisible to callers who are less
 *       patient than the deadline.
 *   <li><i>Slow</i>, where {@code slow-call-rate-threshold} is set. By default a backend that answers, only
 *       slower, stays in use.
 * </ul>
 *
 * <p><b>Open to half-open.</b> Calls are refused at once. A probe that is answered well half-opens the
 * breaker; after a stall, so does any answer to a call that still hangs. {@link io.weir.health.ProbeSchedule}
 * has the times of the probes. A probe is a copy of a caller's GET or HEAD request (a shadow probe), so no
 * caller waits. Calls that hang when the breaker opens give their permits back
 * ({@link io.weir.health.Generation}); otherwise they would hold the permits that the recovered backend needs
 * until their deadline.
 *
 * <p><b>Half-open to closed.</b> A ramp: the limit on calls starts at
 * {@code permitted-number-of-calls-in-half-open-state} and grows by one with each good answer, which doubles
 * it once per service time; the calls above it wait in the queue. The ramp ends when it reaches the limit, or
 * after one second with a good answer and without a failure. It can neither stick nor fall back for want of
 * traffic. It falls back if its first three calls fail, if too many of ten fail, or if it stalls. A relapse
 * within ten seconds halves the pace of the next ramp and never slows the probes.
 *
 * <p><b>Only the backend's behaviour is evidence.</b> The engine decides which results are reported: the
 * gateway's own refusals, pauses and local errors never count, nor do callers who leave early or ask for
 * impossible deadlines. Results of calls that were sent before the last opening are ignored, because they
 * have already opened the breaker once.
 *
 * <p><b>Overload is not failure.</b> Beside a limit that adapts, missed deadlines and fast 503s lower the
 * limit. The breaker counts them only while the limit is at its smallest value, or while less than a tenth of
 * the calls is answered. Otherwise an overload that the limit ends within a second opens the breaker, which
 * then refuses all calls instead of the surplus. A stall opens the breaker in any case.
 *
 * <p><b>Why not</b> count overdue calls in the window of the last calls, as this package once did: five calls
 * of 1.5 s at 2000 fast calls per second opened a window of ten, and 2310 of 12 631 calls were refused. Why
 * not Envoy's outlier ejection or HAProxy's error-limit with checks: both remove the backend for a configured
 * time, and lose that much traffic after its recovery.
 *
 * <p><b>Concurrency.</b> One compare-and-set replaces the whole state. A refusal while open reads the state,
 * counts, and takes no lock.
 *
 * <p><b>Limitations.</b> Each gateway decides by itself; replicas do not share breakers. Of a backend that
 * answers its heads and then stalls, callers who leave early show nothing; only a missed deadline does. A
 * breaker that is not enforced keeps the permits of hanging calls.
 */
@NullMarked
package io.weir.health;

import org.jspecify.annotations.NullMarked;
