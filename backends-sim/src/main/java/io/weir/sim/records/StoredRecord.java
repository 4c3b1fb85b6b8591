package io.weir.sim.records;

import java.time.Instant;

/** A row of {@code records}, as stored and as answered. */
record StoredRecord(long id, String name, int amount, Instant createdAt) {}
