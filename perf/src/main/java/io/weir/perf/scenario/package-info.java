/**
 * What the gateway is for, shown on the built jar: a failure happens, and a table says what was promised of it and what was measured.
 *
 * <p>The gateway is a process of its own with the shipped {@code config/local.yml}; what a scenario needs otherwise is said to it by properties. Backends and callers
 * are in this process. Load comes at a fixed rate whatever becomes of it ({@link io.weir.perf.scenario.OpenLoad}), since callers do not wait for each other, and a
 * request counts from the moment at which it should have been sent, so that a stall is not left out of the figures.
 *
 * <p>{@code --without} switches a protection off, and the scenario that shows it then fails: a check that cannot fail shows nothing.
 *
 * <p>Limitations: on a machine of few cores callers, backends and gateway share them, and latencies are theirs together; hence ratios in one run.
 */
@NullMarked
package io.weir.perf.scenario;

import org.jspecify.annotations.NullMarked;
