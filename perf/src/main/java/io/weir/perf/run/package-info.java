/**
 * {@code perf/run}: starts the servers of an experiment, makes load with Gatling, samples all processes, and
 * writes the raw files.
 *
 * <h2>Parts</h2>
 * <ul>
 *   <li>{@link io.weir.perf.run.Processes} is the only process runner, also of scenarios and benchmarks. A
 *       {@link io.weir.perf.run.CpuAllocation} gives each process its cores and states in a sentence what
 *       that means for the figures. {@code taskset} binds cores; a cgroup sets a quota where cores are
 *       shared; a JVM is told the number of its cores, because it would size its pools by the host's.
 *   <li>Loads: {@link io.weir.perf.run.GatlingLoad} for experiments, {@link io.weir.perf.run.OpenLoad} in
 *       this JVM for scenarios and benchmarks, {@link io.weir.perf.run.Wrk} for maximum rates. {@link
 *       io.weir.perf.run.HttpControl} is the only control client.
 *   <li>{@link io.weir.perf.run.Sampler} reads CPU time, memory, threads and connections from {@code /proc}
 *       and the gateway's meters, once a second.
 *   <li>An {@link io.weir.perf.run.Experiment} gets an {@link io.weir.perf.run.ExperimentContext} with all of
 *       these.
 * </ul>
 *
 * <h2>A gateway elsewhere</h2>
 * The processes of a {@link io.weir.perf.run.RemoteTarget} are not started, limited or sampled. Its simulator
 * is healed at the end of the run in any case. The raw files are in {@code EXPERIMENT-target}.
 * A {@link io.weir.perf.run.ChaosTarget} injects faults by itself: they end with the experiment, also on
 * Ctrl-C, and no other one starts afterwards.
 *
 * <h2>Valid results</h2>
 * A run fails if an assertion does not hold, and if it is not valid ({@link io.weir.perf.run.RunValidity}):
 * it was not completed, or the generator was late or saturated, or that is unknown. The generator must send
 * all planned requests, must not use more than 80 % of its cores in any step, and 99 % of its wake-ups, one
 * every 10 ms, must be at most 50 ms late.
 *
 * <h2>End of a run</h2>
 * At the end, on Ctrl-C, on SIGTERM and after an error, all processes and their descendants are ended, the
 * last one first, by force after 15 s. Cgroups and temporary files are deleted. If this JVM is killed, the
 * processes stay.
 *
 * <h2>Limitations</h2>
 * Limits and samples need Linux. The generator runs on the same machine, and shares its cores if there are
 * few; the first line of each report says so.
 */
@NullMarked
package io.weir.perf.run;

import org.jspecify.annotations.NullMarked;
