/**
 * Stops calls to a backend that fails, and finds out when they may go on.
 *
 * <p>The state machine is Resilience4j's, with its own property names, metrics, endpoints and events. Weir adds four
 * things around it that an edge needs, in {@link io.weir.health.Breaker}:
 *
 * <ul>
 *   <li><b>It sees a hang while it happens.</b> Resilience4j counts calls when they end; a backend that hangs ends none
 *       until the deadline. Calls still under way beyond {@code slow-call-duration-threshold} are counted as the slow
 *       calls that they will be (Resilience4j issue 1597 asks for it), so that a hang opens the breaker at the
 *       threshold, with the calls that were in flight, not at the deadline with the ones after.
 *   <li><b>It looks for recovery.</b> Resilience4j waits a fixed time, then lets N calls through. While it is open, {@link
 *       io.weir.health.Recovery} lets a thin, jittered trickle of probes through; the first that succeeds half-opens,
 *       and Resilience4j's thresholds close. A backend that heals is back in about a probe's interval, however long
 *       the fault was, and is not flooded.
 *   <li><b>The past stays past.</b> A hang leaves calls behind that end long after the backend is back. They have opened the breaker once; what they come to after that
 *       would open it again, on a healthy backend, so Resilience4j is not told of it.
 *   <li><b>Only the backend moves it.</b> What counts, and as what, is decided by the engine: the gateway's own refusals
 *       never count, and neither do callers who leave or wish for impossible deadlines.
 * </ul>
 *
 * <p>Concurrency: Resilience4j's state is one atomic reference, its window is chosen lock-free (the default one takes a
 * lock, on an event loop). Recovery's next moment is one atomic long, taken by CAS, so that one caller becomes the probe.
 * The count of overdue calls is an atomic word together with the number of times that the breaker has opened; that it is read beside Resilience4j's window without a common snapshot is
 * benign: it can open a few calls early or late.
 * What an operator forces is kept beside Resilience4j's state, and comes before it: Resilience4j has no transition that is
 * conditional on the state that it was decided in, and permits one from forced to open, half-open or closed, so that one that was decided
 * just before could undo the force. Such a one is undone itself, by who made it, and no call sees it.
 * Whatever may half-open it holds its monitor: Resilience4j's half-open state has a timer from its making on, which nobody ends where
 * another transition is first, and which would open the breaker {@code max-wait-duration-in-half-open-state} later, whatever it is then.
 *
 * <p>Why not Envoy's outlier ejection or HAProxy's error-limit with checks: both take the backend out for a time that
 * is set beforehand, and lose that much traffic after the heal.
 *
 * <p>Limitations: each gateway decides by itself; breakers are not shared between replicas.
 */
@NullMarked
package io.weir.health;

import org.jspecify.annotations.NullMarked;
