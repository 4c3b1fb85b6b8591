/**
 * The gateway's own calls to a backend: probes of an open breaker, active health checks, and questions to
 * agents.
 *
 * <p>{@link io.weir.probe.HealthProber} probes an open instance without traffic. {@link
 * io.weir.probe.HealthChecker} checks an instance at an interval. Each call is a {@link
 * io.weir.probe.ProbeRequest}. It needs no permit, no queue and no exchange, so this package depends on
 * {@code health}, {@code instance}, {@code capacity} and {@code faults} alone. {@link
 * io.weir.probe.InjectedProbe} applies injected faults to these calls: otherwise they would find a backend
 * healthy that hangs for its callers.
 *
 * <p>An agent ({@link io.weir.probe.AgentCall}) is no part of the backend: injected faults do not concern it,
 * and its silence is no evidence about the instance.
 *
 * <p>The engine decides whether a refused request serves as a probe; see {@code io.weir.engine.ProbeChoice}.
 */
@NullMarked
package io.weir.probe;

import org.jspecify.annotations.NullMarked;
