/**
 * Bodies on their way between two connections.
 *
 * <p>{@link io.weir.body.Relay} passes a body on as it arrives, and tells the time of its source from that of
 * its sink. {@link io.weir.body.BodyAggregator} collects a small answer for one write, unless its backend
 * pauses, which {@link io.weir.body.PauseDetector} finds. {@link io.weir.body.TruncatedBody} ends a body
 * early, for an injected fault. {@link io.weir.body.OwnedBuffer} hands the ownership of a buffer over. The
 * package knows no exchange: what a slow source or sink means for a call, the engine decides.
 */
@NullMarked
package io.weir.body;

import org.jspecify.annotations.NullMarked;
