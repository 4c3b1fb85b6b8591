/**
 * The gateway's protection of itself: limits on its exchanges in flight, its event loops' delay and its
 * memory.
 *
 * <p><b>Protects against</b> a gateway that accepts more requests than it can serve. Its event loops and
 * memory are shared by all backends, so its own overload would harm every caller. Beyond a limit, new
 * requests are refused with {@code gateway-overloaded}, so that exchanges in flight can be completed.
 *
 * <p><b>Algorithm.</b> {@link io.weir.overload.OverloadGuard} decides for each request by three reads: the
 * count of exchanges in flight, whether memory is short, and whether any event loop is overloaded. The guard
 * looks up the request's own loop only if some loop is overloaded. {@link io.weir.overload.OverloadSampler}
 * samples the memory ten times a second, on a thread of its own. Two figures are measured:
 *
 * <ul>
 *   <li>{@link io.weir.overload.LoopDelay}: the standing delay of each event loop, measured by a timer on the
 *       loop itself: the lowest of at least three successive iterations over at least 100 ms.
 *   <li>{@link io.weir.overload.MemoryShare}: direct memory in use, and the heap that survived two garbage
 *       collections, over all its pools. Garbage is no overload, and neither is a single full pool: with half
 *       of the heap live, the old generation alone read 100 % with the serial and the parallel collector.
 * </ul>
 *
 * <p>The timer of {@code LoopDelay} also measures each loop's {@link io.weir.overload.LoopPauses pauses},
 * which the engine keeps out of the evidence against backends: one timer for each loop, and not one for each
 * use.
 *
 * <p>Shedding load because of a pause or of garbage would refuse requests that the gateway could serve.
 *
 * <p><b>Each loop for itself.</b> A connection stays on its loop, so each loop is a server with a queue of
 * its own. A loop refuses requests while it is overloaded; the other loops serve theirs. The limit applies to
 * one loop's delay, so shedding by priority can compare the same figure with lower bounds.
 *
 * <p><b>Stuck loops.</b> A loop that is blocked for ever cannot refuse anything, and refusing the requests of
 * the other loops would not release it. So the other loops go on serving theirs.
 * {@link io.weir.overload.StuckLoops} logs the loop's stack trace after five seconds, and the metric
 * {@code weir.eventloop.stuck} counts such loops. A stuck loop is a defect of the gateway, and only a restart
 * repairs it.
 *
 * <p><b>Why this and not that.</b>
 *
 * <ul>
 *   <li>A task that the sampler submits to each loop ten times a second: it cannot tell a pause from a
 *       standing delay. A pause of the process stops the sampler too, and after it the sampler's overdue runs
 *       found the same late task several times. The gateway shed requests after every pause of half a second.
 *   <li>The lowest of the last measurements, without the rule for shrinking ones: at 70 % load a pause of 2 s
 *       is followed by iterations of 1.4 s, 1 s, 0.7 s and so on. They shrink, and nothing needs to be
 *       refused.
 *   <li>Netty's own report of active time per loop: it shows how busy a loop is, not how long others wait. A
 *       loop can be busy all the time with short iterations.
 * </ul>
 *
 * <p>Concurrency: each loop publishes its delay in volatile fields, and the requests of the same loop read
 * them. The sampler's thread writes volatile fields of the guard for memory and observers; each of them may
 * be up to one sample old.
 *
 * <p><b>Limitations.</b> The delay of an event loop is known after three iterations: at the default limit, at
 * least 0.75 s after the overload's start. The heap figure needs two collections of the old generation. Until
 * then, and some seconds after each, it is 0, so a heap that fills without being collected is not noticed.
 */
@NullMarked
package io.weir.overload;

import org.jspecify.annotations.NullMarked;
