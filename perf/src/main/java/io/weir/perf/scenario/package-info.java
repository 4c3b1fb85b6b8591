/**
 * Scenarios: a failure happens in front of the built gateway, and a table shows the promised and the measured
 * figures.
 *
 * <p>The gateway is a process with the shipped {@code config/local.yml} and the scenario's properties.
 * Backends and callers run in this JVM. The load has a fixed rate, independent of the answers, because
 * callers do not wait for each other; a latency counts from the time when the request was due ({@link
 * io.weir.perf.run.OpenLoad}).
 *
 * <p>To add one: a class like {@link io.weir.perf.scenario.OverloadScenario}, a line in the table of
 * {@link io.weir.perf.scenario.Scenario}, its name in the launcher {@code perf/scenario}, and a row in
 * {@code ScenarioIT} or {@code LoadScenarioIT} for each protection that it shows. A small case needs no
 * scenario of its own: {@link io.weir.perf.scenario.RefusalsScenario} starts one gateway for many, whose
 * backends and routes are in {@code refusals.yml}. A fault that ends in a reason of its own is a line of
 * {@code faults.csv}. {@link io.weir.perf.LightBackend} answers after any wait; with a {@link
 * io.weir.perf.WorkerService} it has a capacity; {@link io.weir.perf.result.PromiseTable} compares
 * promised and measured figures.
 *
 * <p>{@code --without} disables a protection. The scenario that shows it then fails: a check that cannot fail
 * shows nothing. {@code mvn verify -Pfull} runs quick scenarios, whose bounds only a broken protection
 * misses; the full ones have the promised bounds, and need a machine with nothing else to do ({@code
 * FullScenarioIT}).
 *
 * <p>A backend that hangs never answers the requests of that time ({@link
 * io.weir.perf.WorkerService}): late answers to them would heal it sooner than its callers know.
 * It heals at a random moment between two probes.
 *
 * <p>Limitation: on a machine with few cores, callers, backends and gateway share them, so latencies are
 * compared only within one run.
 */
@NullMarked
package io.weir.perf.scenario;

import org.jspecify.annotations.NullMarked;
