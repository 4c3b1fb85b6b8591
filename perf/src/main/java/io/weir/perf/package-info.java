/**
 * Measurements of the gateway, and the peers that it is compared with.
 *
 * <p>A speed is a ratio to a peer on the same machine in the same run: {@link io.weir.perf.BareProxy}, the
 * minimal proxy on Reactor Netty; {@link io.weir.perf.PlainGateway}, Spring Cloud Gateway with its
 * CircuitBreaker filter; and in {@code perf/run peers} also HAProxy, nginx and Envoy. {@link
 * io.weir.perf.LightBackend} serves peers, scenarios and benchmarks.
 *
 * <ul>
 *   <li>{@link io.weir.perf.scenario}: promises that are checked in minutes; {@code perf/scenario}.
 *   <li>{@link io.weir.perf.bench}: the costs of a request, a reload and the dashboard; {@code perf/bench},
 *       {@code perf/reload}, {@code perf/dashboard-cost}.
 *   <li>{@link io.weir.perf.experiment}: experiments with Gatling, limited processes and raw files; {@code
 *       perf/run}. {@code perf/simulations} makes their load; {@code perf/thread-front} is one of the
 *       compared fronts.
 *   <li>{@link io.weir.perf.run}: the process runner, the load clients and the context of an experiment.
 *   <li>{@link io.weir.perf.result}: the result model. {@link io.weir.perf.report}: the pages; {@code
 *       perf/report}.
 * </ul>
 */
@NullMarked
package io.weir.perf;

import org.jspecify.annotations.NullMarked;
