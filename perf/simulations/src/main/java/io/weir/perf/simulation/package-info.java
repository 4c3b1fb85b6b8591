/**
 * The load of {@code perf/run}: Gatling simulations, each named after its experiment's question, with the assertions that have to hold.
 *
 * <p>They run in a process of their own, on a class path of their own: Gatling brings its Netty, and what is measured has another one. What a run is about is said to
 * it by system properties ({@link io.weir.perf.simulation.Plan}); it knows nothing of who started what.
 *
 * <h2>Raw rows</h2>
 * Gatling's log is binary since 3.12, its times are whole milliseconds, and its reader is for its own report. So each request's row is written by the virtual user
 * that made it ({@link io.weir.perf.simulation.Rows}), right after the answer, with the outcome: the gateway's own reason from {@code Proxy-Status}, a status, or why
 * there was no answer. That last thing a virtual user is not told; Gatling logs it, on the thread that then runs the user's next step, and {@link
 * io.weir.perf.simulation.Failures} picks it up there.
 *
 * <h2>The model</h2>
 * Callers do not wait for each other, so users come at a fixed rate (Gatling's open model), each on a connection of its own. {@link
 * io.weir.perf.simulation.Stalls} measures how late the generator itself is: a run of a late generator is no result.
 */
@NullMarked
package io.weir.perf.simulation;

import org.jspecify.annotations.NullMarked;
