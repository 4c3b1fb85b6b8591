/**
 * The report: a page for each run, with plots, and with each claim beside the measured figure.
 *
 * <p>The input is only the raw files of the runs ({@link io.weir.perf.result}) and the claims in the jar, so
 * {@code perf/report} makes the same pages from the same files at any time. No figure is typed by hand.
 *
 * <p>To add a claim: a line in {@code claims.csv} with its source and the tolerance within which a measured
 * figure agrees. To explain a disagreement: a line in {@code whys.csv} with a condition on the run's own
 * figures and properties, so that the page shows the explanation only where it can be true.
 *
 * <p>Plots are PNG and not SVG: the plot of a hundred thousand requests stays small and looks the same
 * everywhere.
 */
@NullMarked
package io.weir.perf.report;

import org.jspecify.annotations.NullMarked;
