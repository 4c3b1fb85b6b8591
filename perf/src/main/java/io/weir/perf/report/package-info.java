/**
 * The report: a page for each run, with plots, and with each claim beside the measured figure.
 *
 * <p>The input is only the raw files of the runs ({@link io.weir.perf.result}) and the claims in the jar, so
 * {@code perf/report} makes the same pages from the same files at any time. No figure is typed by hand.
 *
 * <p>To add a claim: a line in {@code claims.csv} with its source and the tolerance within which a measured
 * figure agrees. A run copies its claims when it begins, and the report uses that copy. The report says that
 * a figure agrees only if the run meets each line of the {@link io.weir.perf.report.Checklist}. What it says
 * about a disagreement comes from the run's own figures ({@link io.weir.perf.report.RunEvidence}). Rejected
 * alternative: explanations written beforehand. They read like findings, and nothing holds them to the run.
 *
 * <p>Plots are PNG and not SVG: the plot of a hundred thousand requests stays small and looks the same
 * everywhere.
 */
@NullMarked
package io.weir.perf.report;

import org.jspecify.annotations.NullMarked;
