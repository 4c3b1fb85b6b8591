/**
 * Stops calls to a failing backend, and detects when it has recovered.
 *
 * <p>The state machine is Resilience4j's, with its property names, metrics, endpoints and events. {@link
 * io.weir.health.Breaker} adds four behaviours that an edge proxy needs:
 *
 * <ul>
 *   <li><b>It detects a hang while the calls hang.</b> Resilience4j records calls when they end; in a backend
 *       that hangs, no call ends before the deadline. Calls under way for longer than {@code
 *       slow-call-duration-threshold} count as the slow calls that they will be (Resilience4j issue 1597
 *       requests it). So a hang opens the breaker after the threshold, by the calls that were in flight, and
 *       not after the deadline, by later calls.
 *   <li><b>It probes for recovery.</b> Resilience4j waits a fixed time, then permits N calls. While the
 *       breaker is open, {@link io.weir.health.Recovery} permits a few jittered probes. The first probe that
 *       succeeds half-opens the breaker, and Resilience4j's thresholds close it. A backend that recovers gets
 *       its traffic back after about one probe interval, however long the fault lasted, and is not flooded.
 *   <li><b>It ignores outdated results.</b> Calls that were caught in a hang end long after the backend has
 *       recovered. They have already opened the breaker once. Their results would open it again, although the
 *       backend is healthy, so they are not recorded. The breaker's generation, the number of its openings,
 *       identifies such calls.
 *   <li><b>Only the backend's behaviour changes its state.</b> The engine decides which results are recorded,
 *       and how: the gateway's own refusals never count, nor do callers that disconnect or ask for impossible
 *       deadlines.
 * </ul>
 *
 * <p><b>Concurrency.</b> Resilience4j's state is one atomic reference, and its window is the lock-free one
 * (the default takes a lock, on an event loop). The time of the next probe is one atomic long, changed by
 * CAS, so that exactly one call becomes the probe. One atomic word has the generation and the number of
 * overdue calls. It is read together with Resilience4j's window without a common snapshot, which is benign:
 * the breaker can open a few calls early or late.
 *
 * <p>A state forced by an operator is kept beside Resilience4j's state, and overrides it. Resilience4j has no
 * transition that is conditional on the state in which it was decided, and permits transitions from forced to
 * open, half-open or closed. So a transition decided just before could undo the operator's. The thread that
 * executes such a transition reverts it, and no call sees it.
 *
 * <p>Every method that may half-open the breaker holds its monitor. Resilience4j's half-open state starts a
 * timer when it is created, and nothing cancels the timer if another transition wins. The timer would open
 * the breaker {@code max-wait-duration-in-half-open-state} later, whatever its state is then.
 *
 * <p><b>Why not</b> Envoy's outlier ejection or HAProxy's error-limit with checks: both remove the backend
 * for a configured time, and lose that much traffic after its recovery.
 *
 * <p><b>Limitations.</b> Each gateway decides by itself; replicas do not share breakers.
 */
@NullMarked
package io.weir.health;

import org.jspecify.annotations.NullMarked;
