/**
 * Callers that are slow, over all exchanges: what they hold, and which of them end so that others can go on.
 *
 * <p>{@link io.weir.slowcaller.ReadAheadBudget} bounds the bodies that are read ahead. {@link
 * io.weir.slowcaller.SlowCallers} bounds the answers that wait for their readers, and the permits that moved
 * calls hold. Both end the slowest call first, by {@link io.weir.slowcaller.EndableCall}. {@link
 * io.weir.slowcaller.MinimumRate} detects a caller that moves a byte from time to time. The package knows no
 * exchange: the engine reports the progress of its callers, and ends what is chosen. The reasons for the
 * rules are in {@code io.weir.engine}.
 */
@NullMarked
package io.weir.slowcaller;

import org.jspecify.annotations.NullMarked;
