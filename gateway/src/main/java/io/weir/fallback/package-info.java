/**
 * What a caller gets in place of a refusal: a static answer, or another backend's.
 *
 * <p>A fallback is given only before the answer has begun, and under a limit of its own, or it would carry one
 * backend's trouble to the next. Another backend is asked through its own compartment, while budget is left; if it
 * refuses too, the caller gets the first refusal, since that is the one that names the trouble.
 *
 * <p>Concurrency: the limit is a {@code QueueingBulkhead} without a queue; the rest is immutable.
 */
@NullMarked
package io.weir.fallback;

import org.jspecify.annotations.NullMarked;
