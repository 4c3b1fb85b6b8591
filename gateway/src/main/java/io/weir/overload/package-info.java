/**
 * The gateway's protection of itself: limits on its exchanges in flight, its event loops' delay and its
 * memory.
 *
 * <p><b>Protects against</b> a gateway that accepts more requests than it can serve. Its event loops and
 * memory are shared by all backends, so its own overload would harm every caller. Beyond a limit, new
 * requests are refused with {@code gateway-overloaded}, so that exchanges in flight can be completed.
 *
 * <p><b>Algorithm.</b> {@link io.weir.overload.OverloadGuard} decides for each request by two reads: the
 * count of exchanges in flight, and whether the last sample was over a limit. {@link
 * io.weir.overload.OverloadSampler} takes samples ten times a second, on a thread of its own, since a stuck
 * event loop cannot measure itself. Two figures are sampled:
 *
 * <ul>
 *   <li>{@link io.weir.overload.LoopDelay}: a standing delay of an event loop, the lower of two consecutive
 *       measurements. A single pause, such as a garbage collection, is no overload.
 *   <li>{@link io.weir.overload.MemoryShare}: direct memory in use, and the heap that survived two garbage
 *       collections, over all its pools. Garbage is no overload, and neither is a single full pool: with half
 *       of the heap live, the old generation alone read 100 % with the serial and the parallel collector.
 * </ul>
 *
 * <p>Shedding load because of a pause or of garbage would refuse requests that the gateway could serve.
 *
 * <p>Concurrency: the sampler's thread writes volatile fields of the guard, and requests read them. Each of
 * them may be up to one sample old.
 *
 * <p>Limitations: the heap figure needs two collections of the old generation. Until then, and some
 * seconds after each, it is 0, so a heap that fills without being collected is not noticed.
 */
@NullMarked
package io.weir.overload;

import org.jspecify.annotations.NullMarked;
