/**
 * What a permit costs: the gateway's bulkhead beside Resilience4j's SemaphoreBulkhead, by JMH.
 *
 * <p>Three questions, each of both: a permit that is free, taken and given back by one thread or by several; a call that finds none and is
 * refused; and calls that wait for one. In the last, Resilience4j's blocks its thread, and the gateway's is given a callback, which
 * here wakes a blocked thread so that both do the same.
 */
@NullMarked
package io.weir.perf.jmh;

import org.jspecify.annotations.NullMarked;
