/**
 * The experiments of {@code perf/run}, a class each. Each says its question, starts what it needs, lets a simulation ask, and computes from the requests what its
 * claims are about.
 */
@NullMarked
package io.weir.perf.experiment;

import org.jspecify.annotations.NullMarked;
