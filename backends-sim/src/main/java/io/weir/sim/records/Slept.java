package io.weir.sim.records;

/** The answer of what only takes time. */
record Slept(long ms) {}
