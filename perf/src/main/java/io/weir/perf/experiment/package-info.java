/**
 * The experiments of {@code perf/run}.
 *
 * <p>To add one: a class with {@link io.weir.perf.run.Experiment.Measures}, and its claims in {@code
 * claims.csv}.
 *
 * <ul>
 *   <li>A fixed number of callers: a {@link io.weir.perf.experiment.ClosedExperiment} declares its services
 *       and their rounds ({@link io.weir.perf.experiment.ClosedRounds}); the runner starts, warms up,
 *       measures and stops them.
 *   <li>Callers at fixed rates: an {@link io.weir.perf.run.Experiment} declares the seconds of its
 *       {@linkplain io.weir.perf.experiment.PhasedLoad.Phases phases}, starts servers with
 *       {@link io.weir.perf.run.TestServers}, and runs a {@link io.weir.perf.experiment.PhasedLoad} on them.
 *       {@link io.weir.perf.experiment.NeighbourLoad} has two backends of which one fails.
 *   <li>The subject of a scenario: a {@link io.weir.perf.experiment.ScenarioExperiment} runs the code of the
 *       scenario of its name. An experiment of the same subject is no second implementation.
 * </ul>
 *
 * <p>Rounds and phases state the assertions of the load. Afterwards the experiment records the facts that its
 * claims are about.
 */
@NullMarked
package io.weir.perf.experiment;

import org.jspecify.annotations.NullMarked;
