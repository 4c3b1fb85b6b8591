/**
 * The cost of a permit: the gateway's bulkhead beside Resilience4j's SemaphoreBulkhead, by JMH.
 *
 * <p>Three cases, for both: a free permit, taken and released by one thread or by several; a refused call;
 * and calls that wait. In the last case Resilience4j blocks the thread, and the gateway calls back; here the
 * callback wakes a blocked thread, so that both do the same.
 */
@NullMarked
package io.weir.perf.jmh;

import org.jspecify.annotations.NullMarked;
