package io.weir.limit;

/** The gateways whose calls a limit counts. */
public enum BulkheadScope {
    /** Each gateway has the whole limit for its own calls. */
    GATEWAY,
    /** All gateways together: each has its share of the limit. */
    CLUSTER
}
