package io.weir.sim.records;

import java.time.Instant;

/** A row of {@code records}, as it is stored and as it is answered. */
record StoredRecord(long id, String name, int amount, Instant createdAt) {}
