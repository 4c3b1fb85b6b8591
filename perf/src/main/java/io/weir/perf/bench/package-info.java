/**
 * How fast the gateway is beside its peers.
 *
 * <p>What is told is a ratio within one round, and its median over the rounds: a machine that others use too gets slower and faster, and a round
 * is short enough that all in it get the same machine. The figures of the rounds are told as well. Whoever is measured has a core of its own; how much
 * of it he used is told, since a figure below the whole core is the load's and not his.
 */
@NullMarked
package io.weir.perf.bench;

import org.jspecify.annotations.NullMarked;
