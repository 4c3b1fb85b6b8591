/**
 * The cost of a permit and of a refusal: the gateway's bulkhead beside Resilience4j's SemaphoreBulkhead, and
 * the gateway's circuit breaker beside Resilience4j's, by JMH.
 *
 * <p>Three cases of the bulkhead, for both: a free permit, taken and released by one thread or by several; a
 * refused call; and calls that wait. In the last case Resilience4j blocks the thread, and the gateway calls
 * back; here the callback wakes a blocked thread, so that both do the same. One case of the breaker: calls
 * that it refuses while it is open, by one thread and by several.
 *
 * <p>{@link io.weir.perf.jmh.TokenBenchmark} measures the cost of a request's token, with and without the
 * cache of verified tokens, and {@link io.weir.perf.jmh.ChoiceBenchmark} the choice of a call's instance.
 */
@NullMarked
package io.weir.perf.jmh;

import org.jspecify.annotations.NullMarked;
