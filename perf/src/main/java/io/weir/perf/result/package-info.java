/**
 * The result model: the raw files of a run, and the figures that are computed from them.
 *
 * <p>{@link io.weir.perf.result.ResultWriter} writes the files and {@link io.weir.perf.result.RunResult}
 * reads them, with one {@link io.weir.perf.result.CsvTable} for each file: Jackson binds a row to a record,
 * and the record checks its values. Times are milliseconds since the start of the run.
 *
 * <table><caption>Files in {@code perf/results/EXPERIMENT/MODE/}</caption>
 * <tr><td>{@code run.properties}</td><td>{@code experiment}, {@code mode}, {@code command}, {@code
 * limit.sentence}; {@code question} of the experiment; {@code x}: the unit of a series' steps; {@code
 * valid} and {@code invalid.why}: an invalid run is compared with nothing; {@code load.model}, {@code
 * load.question}, {@code warm-up.seconds} and {@code limits} for the checklist; {@code panels}: the fronts;
 * the environment of the run</td></tr>
 * <tr><td>{@code steps.csv}</td><td>{@code step,label,x,began_ms,ended_ms}: steps of the same label with an
 * {@code x} form a line in a plot</td></tr>
 * <tr><td>{@code requests.csv}</td><td>{@code step,at_ms,micros,request,outcome}: each completed request at
 * the time when it was sent</td></tr>
 * <tr><td>{@code processes.csv}</td><td>{@code
 * step,at_ms,process,cpu_micros,rss_bytes,threads,connections}</td></tr>
 * <tr><td>{@code meters.csv}</td><td>{@code step,at_ms,meter,labels,value}</td></tr>
 * <tr><td>{@code spans.csv}</td><td>{@code step,label,from_ms,to_ms}: periods that plots shade</td></tr>
 * <tr><td>{@code facts.csv}</td><td>{@code name,value,unit}: figures that the experiment computed</td></tr>
 * <tr><td>{@code assertions.csv}</td><td>{@code run,assertion,holds,actual}: conditions that must
 * hold</td></tr>
 * <tr><td>{@code claims.csv}</td><td>{@code experiment,name,claimed,unit,tolerance,source}: the claims about
 * the experiment when the run began</td></tr>
 * <tr><td>{@code gatling/}, {@code logs/}</td><td>Gatling's own reports, the processes' output</td></tr>
 * </table>
 *
 * <p>{@link io.weir.perf.result.Requests} computes the figures of requests, also for scenarios and
 * benchmarks. Latencies in figures are those of successes: a refusal is fast, and would improve every
 * percentile.
 *
 * <p>Limitation: all requests of a run are in memory while they are read: several hundred megabytes for an
 * hour at 1000 requests per second.
 */
@NullMarked
package io.weir.perf.result;

import org.jspecify.annotations.NullMarked;
