package io.weir.sim.records;

/** The answer of the endpoints that only take time. */
record SleepAnswer(long ms) {}
