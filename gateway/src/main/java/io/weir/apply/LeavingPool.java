package io.weir.apply;

import io.weir.instance.Pool;

/** A pool that gets no new calls. */
public record LeavingPool(Pool pool, boolean hasInstanceLeft) {}
