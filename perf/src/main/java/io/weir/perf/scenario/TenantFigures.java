package io.weir.perf.scenario;

import io.weir.perf.result.PromiseTable;

/**
 * The figures of a gateway whose backend gets four times its capacity from several tenants, and what they
 * must be.
 *
 * @param small the least answered of the tenants that ask for less than their share, in percent of its calls
 * @param medium the answers of a tenant that asks for more than its share, in percent of its share
 * @param goodput all calls that were answered in time, in percent of the capacity
 * @param alone the same while one tenant alone sends four times the capacity
 * @param sentNames the tenants' names that were sent, each once
 * @param countedNames the names that the gateway counts one by one afterwards
 * @param heapMegabytes by which the names have enlarged the heap, after garbage collections
 */
record TenantFigures(
        double small,
        double medium,
        double goodput,
        double alone,
        long sentNames,
        long countedNames,
        double heapMegabytes) {

    /** A thousand in the present and in the last period. */
    static final int MAX_COUNTED_NAMES = 2_000;

    /** A million names of 16 characters take 70 MB and more. */
    static final int MAX_HEAP_MEGABYTES = 16;

    /** Adds the promises; the bounds of a quick run are wider, for a busy machine. */
    void judge(boolean quick, PromiseTable promises) {
        promises.atLeast("within their share, beside 70 % of 4 x: answered, the least", quick ? 95 : 98, small, "%");
        promises.atLeast("with more than its share: answered, of its share", quick ? 75 : 90, medium, "%");
        promises.atLeast("all tenants: answered, of the capacity", quick ? 80 : 96, goodput, "%");
        promises.atLeast("one tenant alone, 4 x: answered, of the capacity", quick ? 80 : 96, alone, "%");
        promises.atMost(sentNames + " names: counted one by one", MAX_COUNTED_NAMES, (double) countedNames, "");
        promises.atMost(sentNames + " names: growth of the heap", MAX_HEAP_MEGABYTES, heapMegabytes, "MB");
    }
}
