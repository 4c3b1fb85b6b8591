/**
 * The replacement of a refusal: a static answer, or another backend's answer. And the answer that a route
 * gives by itself, such as during maintenance.
 *
 * <p>A fallback is used only before the answer has begun, and under a limit of its own. Without that limit,
 * fallbacks would spread one backend's overload to the next. Another backend is called through its own
 * compartment, while time is left before the deadline. If it refuses too, the caller receives the first
 * refusal, since the first one names the cause.
 *
 * <p>Concurrency: the limit is a {@code QueueingBulkhead} without a queue; the rest is immutable.
 */
@NullMarked
package io.weir.fallback;

import org.jspecify.annotations.NullMarked;
