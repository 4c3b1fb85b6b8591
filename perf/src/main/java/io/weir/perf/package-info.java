/**
 * What the gateway is measured beside, and what it is measured with.
 *
 * <p>A speed is a ratio to something run side by side on the same machine in the same run: {@link io.weir.perf.BareProxy}, the least that a proxy
 * on Reactor Netty can be, {@link io.weir.perf.PlainGateway}, Spring Cloud Gateway with its own CircuitBreaker filter, as its users have it, and, in {@code perf/run peers},
 * HAProxy, nginx and Envoy.
 *
 * <ul>
 *   <li>{@link io.weir.perf.scenario}: promises, checked in minutes by what is in one process; {@code perf/scenario}.
 *   <li>{@link io.weir.perf.run}: experiments with Gatling, processes within limits, raw files; {@code perf/run}. {@link io.weir.perf.experiment} has them,
 *       {@code perf/simulations} makes their load, and {@code perf/thread-front} is one of the fronts that the gateway is set beside.
 * </ul>
 */
@NullMarked
package io.weir.perf;

import org.jspecify.annotations.NullMarked;
