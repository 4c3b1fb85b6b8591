/**
 * The load of {@code perf/run}: one Gatling simulation for the open model and one for the closed model. The
 * experiment passes callers, phases and assertions in a file ({@link io.weir.perf.simulation.LoadPlan}).
 *
 * <p>Simulations run in their own process with their own class path: Gatling brings its own Netty.
 *
 * <h2>Rows</h2>
 * Gatling's log is binary since 3.12, its times are whole milliseconds, and only its own report reads it. So
 * the virtual user writes a row after each answer ({@link io.weir.perf.simulation.RowFile}) with the outcome:
 * the gateway's reason from {@code Proxy-Status}, a status, or why there was no answer. Gatling does not tell
 * the virtual user the latter, but logs it; {@link io.weir.perf.simulation.FailureLog} reads it there.
 *
 * <h2>Models</h2>
 * In the {@linkplain io.weir.perf.simulation.OpenModel open model}, callers do not wait for each other and
 * arrive at a fixed rate, each with its own connection. In the {@linkplain
 * io.weir.perf.simulation.ClosedModel closed model}, a fixed number of callers wait for their answers. {@link
 * io.weir.perf.simulation.WakeUpDelays} measures how late the generator is: the run of a late generator is
 * not valid.
 */
@NullMarked
package io.weir.perf.simulation;

import org.jspecify.annotations.NullMarked;
