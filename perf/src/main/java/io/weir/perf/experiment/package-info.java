/**
 * The experiments of {@code perf/run}.
 *
 * <p>To add one: a class with {@code @ExperimentName} and {@code @Question} that extends {@link
 * io.weir.perf.run.Experiment}, and its claims in {@code claims.csv}. It starts servers with {@link
 * io.weir.perf.run.TestServers}, makes load with {@link io.weir.perf.experiment.PhasedLoad} (callers at fixed
 * rates) or {@link io.weir.perf.experiment.ClosedRounds} (a fixed number of callers), states the assertions
 * of the load, and computes the facts that its claims are about.
 */
@NullMarked
package io.weir.perf.experiment;

import org.jspecify.annotations.NullMarked;
