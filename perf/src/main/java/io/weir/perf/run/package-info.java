/**
 * {@code perf/run}: starts what an experiment needs, lets Gatling ask, looks at each process from outside, and leaves raw files behind; nothing else.
 *
 * <pre>{@code
 * perf/run --list
 * perf/run containment                  quick, the default: minutes
 * perf/run containment soak --full      with the durations that the figures are claimed for
 * perf/run containment --cpus 2         cores for each process under test; default 4
 * perf/run containment --target http://gateway:8080 --faults http://simulator:9080      a gateway that runs elsewhere
 * GATEWAY_PORT=8080 MANAGEMENT_PORT=8081 perf/run containment      to look at the dashboard meanwhile
 * }</pre>
 *
 * <h2>How it is made</h2>
 * <ul>
 *   <li>An {@link io.weir.perf.run.Experiment} says its question and what it does; it works with a {@link io.weir.perf.run.Bench} and a {@link io.weir.perf.run.Fleet}.
 *       To add one: a class in {@code io.weir.perf.experiment}, a line in its {@code Experiments} and in {@code perf/experiments.txt}, by which {@code perf/run}
 *       knows a name before anything is built, and a simulation in {@code perf/simulations}.
 *   <li>{@link io.weir.perf.run.Limits} decides who gets which cores, and says in a sentence what that means for the figures. Cores are bound by {@code taskset}; a
 *       cgroup of each process's own has a quota where cores have to be shared; and a JVM is told the number that it really gets, for it would size its pools by the
 *       host's.
 *   <li>Processor time, memory, threads and connections are read from {@code /proc}, as they are of any process, once a second; the gateway's meters from its scrape.
 *   <li>{@link io.weir.perf.run.Gatling} runs a simulation in a process of its own, takes over the rows of its requests and the verdicts of its assertions.
 * </ul>
 *
 * <h2>A gateway that runs elsewhere</h2>
 * {@link io.weir.perf.run.Target}: its processes are not started, not limited and not sampled, and its simulator is healed at the end, however the run ends. An experiment
 * that makes sense there says so ({@link io.weir.perf.run.Experiment#elsewhere}), and its raw files have a place of their own, {@code EXPERIMENT-target}.
 *
 * <h2>Raw files</h2>
 * {@code perf/results/EXPERIMENT/quick|full/}, rewritten by each run: {@code run.properties}, {@code steps.csv}, {@code requests.csv} (a row for each request, at the time
 * when it was sent), {@code processes.csv}, {@code meters.csv}, {@code spans.csv}, {@code facts.csv}, {@code assertions.csv}, {@code gatling/} with Gatling's own
 * reports, {@code logs/}. Times are milliseconds since the run began.
 *
 * <h2>What is no result</h2>
 * A run fails if an assertion does not hold, and if it is not valid: if it did not come to its end, or if the generator was late or saturated itself, or nobody knows
 * whether it was. It must send as many requests as its simulation has planned. It must not keep more than 80 % of its cores busy in any step. Its thread that wants to
 * wake every 10 ms must not be more than 50 ms late more often than once in a hundred times; a stop counts for each time that it holds up.
 *
 * <h2>Its end</h2>
 * At the end, at Ctrl-C, at SIGTERM and after an error everything that was started is ended, the last first, by force if it does not go within 15 s, and so is what
 * that has started, also where it died in the middle; cgroups and temporary files go too. If it is killed by force itself, what it has started is left.
 *
 * <h2>Limitations</h2>
 * Linux: elsewhere there are no limits and no samples. The generator is on the same machine; on one with few cores it shares them, and the first line of each report
 * says so.
 */
@NullMarked
package io.weir.perf.run;

import org.jspecify.annotations.NullMarked;
