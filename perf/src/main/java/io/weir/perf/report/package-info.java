/**
 * The report on the experiments: a page for each run, with plots, beside what was claimed.
 *
 * <p>It reads the raw files of a run and what comes with the program, nothing else: {@code perf/report} makes the same pages of the same files at any time. No figure is typed
 * in. What was claimed stands in {@code claims.csv}, with its source and the tolerance within which a measured figure agrees; why one does not, in {@code whys.csv},
 * each under a condition on the run's own figures and properties, so that an explanation is given only where it can be true.
 *
 * <h2>Raw files</h2>
 * In {@code results/EXPERIMENT/MODE/}; CSV by RFC 4180 with a header. Times are milliseconds since the run began.
 * <table><caption>Files of a run</caption>
 * <tr><td>{@code run.properties}</td><td>{@code experiment}, {@code mode}, {@code command}, {@code limit.sentence}, and whatever else is to be known of the run. {@code question}: what the experiment asks.
 * {@code x}: what its steps are a series of. {@code valid} and {@code invalid.why}: whether the run is to be believed; if not, nothing is compared</td></tr>
 * <tr><td>{@code steps.csv}</td><td>{@code step,label,x,began_ms,ended_ms}: with an {@code x}, steps of the same label make a line</td></tr>
 * <tr><td>{@code requests.csv}</td><td>{@code step,at_ms,micros,request,outcome}: each that ended, when it was sent, as its caller saw it</td></tr>
 * <tr><td>{@code processes.csv}</td><td>{@code step,at_ms,process,cpu_micros,rss_bytes,threads,connections}</td></tr>
 * <tr><td>{@code meters.csv}</td><td>{@code step,at_ms,meter,labels,value}</td></tr>
 * <tr><td>{@code spans.csv}</td><td>{@code step,label,from_ms,to_ms}: shaded</td></tr>
 * <tr><td>{@code facts.csv}</td><td>{@code name,value,unit}: figures that the experiment found by itself</td></tr>
 * <tr><td>{@code assertions.csv}</td><td>{@code run,assertion,holds,actual}: what had to hold</td></tr>
 * </table>
 *
 * <h2>Why so</h2>
 * PNG and not SVG: a plot of a hundred thousand requests stays small, and looks the same everywhere. Latencies are those of successes: a refusal takes no time, and would make every percentile look well.
 * Colours are the dashboard's.
 *
 * <h2>Limitations</h2>
 * A run's requests are held in memory while its page is made: some hundred megabytes for an hour at 1000 requests a second.
 */
@NullMarked
package io.weir.perf.report;

import org.jspecify.annotations.NullMarked;
