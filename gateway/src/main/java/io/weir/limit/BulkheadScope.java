package io.weir.limit;

/** For whom a limit holds. */
public enum BulkheadScope {
    /** For each gateway. */
    GATEWAY,
    /** For all gateways together: each has its share. */
    CLUSTER
}
