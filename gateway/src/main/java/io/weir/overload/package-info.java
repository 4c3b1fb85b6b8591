/**
 * The gateway's protection of itself: its event loops' delay, its exchanges in flight, and its memory.
 *
 * <p><b>Protects against</b> a gateway that accepts more requests than it can serve. Its event loops and
 * memory are shared by all backends, so its own overload would harm every caller. New requests are refused
 * with {@code gateway-overloaded}, as many as necessary, so that the others are served in time.
 *
 * <p><b>The event loops.</b> The gateway is a backend of its own callers. Its latency is the time that an
 * iteration of an event loop keeps others waiting: {@link io.weir.overload.LoopDelay} measures it by a timer
 * on the loop itself, without the time for which the loop waits for a processor ({@link
 * io.weir.overload.SchedulerStatistics}). A delay that stands above the target (10 ms) for an interval (100
 * ms, and at least three iterations) is overload. {@link io.weir.overload.LoadShedder} then refuses a share
 * of the loop's new requests, and corrects it with every iteration until the delay rests at the target. A
 * refusal costs a fraction of a forwarded request, so most of the processor is left for the admitted
 * requests: at twice the capacity, and refusals at a fifth of the cost, 0.75 of the peak is possible, and
 * {@code LoadShedderTest} measures more than 95 % of that. With fewer than ten requests in an interval, none
 * is refused, not even beyond the hard limit: they cannot be the cause of the delay. A gateway that loaded
 * classes for its first calls, at 50 requests per second, refused four of them.
 *
 * <p><b>Early and cheap.</b> If all routes have the same priority, or a trusted proxy has set that of the
 * request, it is refused at its decoded head, before Reactor Netty, Spring and the route's match see it.
 * Otherwise its class has to be known first: it is refused after the match, before there is an exchange.
 * Beyond the hard limit ({@code max-event-loop-delay}) the class does not matter, and every request is
 * refused at its head. Each request is judged once.
 *
 * <p><b>By class.</b> The share falls on sheddable requests first, then on normal, last on critical ones. The
 * exchanges in flight and the memory are bounds and no latencies, so these classes have thresholds: 80 %, 95
 * % and 100 % of the bound.
 *
 * <p><b>Exchanges in flight.</b> {@link io.weir.overload.InFlightPot}: each backend has a guaranteed part of
 * the places, and all share the rest. Ten backends that hang with long deadlines hold everything else for as
 * long as they like; the healthy one beside them still has its part. A tenth of the places is guaranteed, in
 * equal parts, unless a backend has a share of its own: what is guaranteed to an idle backend is lost to a
 * busy one, and a single busy backend among two hundred idle ones keeps nine tenths. The classes divide the
 * shared places only, so that a guaranteed one is available to any class. The price of an exchange is one
 * atomic operation at each end, and one more if it borrows.
 *
 * <p><b>New connections.</b> While a loop sheds, the socket accepts at most one connection per millisecond
 * (but 8 in each iteration). The others wait in the kernel.
 *
 * <p><b>Handshakes.</b> A loop begins one TLS handshake per iteration ({@link io.weir.overload.LoopTurns}),
 * also while it does not shed. The others wait in the gateway, in the order of arrival: a handshake costs as
 * much as several requests, and those of thousands of new connections would take the time of the open ones.
 * While 4900 connections were opened at once on one core, the p50 of kept ones rose from 1.0 to 1.6 ms; with
 * two handshakes per iteration to 3.8 ms.
 *
 * <p><b>The memory.</b> {@link io.weir.overload.OverloadSampler} samples it ten times a second, on a thread
 * of its own. {@link io.weir.overload.MemoryShare}: direct memory in use, and the heap that survived garbage
 * collections, over all its pools. Garbage is no overload, and neither is a single full pool: with
 * half of the heap live, the old generation alone read 100 % with the serial and the parallel collector.
 *
 * <p><b>Compilers.</b> A cold JVM has no switch of its own: its requests cost more, so its loops are
 * overloaded earlier, and the share shrinks as the code is compiled. Its compilers take part of the
 * processors from the loops. With that time in the delay, a cold gateway on one core with 500 callers at
 * twice the load of its peak answered 930 requests per second for 15 s, none of them in the second one, and
 * 86 % of the critical ones. Without it, it answers 1700 to 2300, and 99.9 % of the critical ones; those of
 * the first second wait for about a second. A refusal ends no compilation, and the delay will end by itself:
 * so while work outside of the loops takes a quarter of the processors ({@link
 * io.weir.overload.OutsideWork}), the loops are patient. The target is twice the hard limit then, half a
 * second by default, and the hard limit is four times as high. That lasts a minute at most.
 *
 * <p>The timer of {@code LoopDelay} also measures each loop's {@link io.weir.overload.LoopPauses pauses},
 * which the engine keeps out of the evidence against backends: one timer for each loop, and not one for each
 * use.
 *
 * <p><b>Each loop for itself.</b> A connection stays on its loop, so each loop is a server with a queue of
 * its own. A loop refuses requests while it is overloaded; the other loops serve theirs.
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
 *       refused. With the rule over three iterations only, a pause of 400 ms at 90 % load refused 8 % of the
 *       requests of the next five seconds: its iterations shrink by a tenth or less, so the rule looks back
 *       over five intervals.
 *   <li>Everything or nothing at one limit, as before: at 250 ms the callers have waited for most of a
 *       second, and everything was refused until the delay was gone, then nothing until it was back.
 *   <li>Equal parts of the whole pot: one busy backend among two hundred idle ones would have a
 *       two-hundredth.
 *   <li>Unused parts that are lent, and come back as calls end: the calls that have borrowed them hang, and
 *       the lender waits for their deadlines. So guaranteed places are not lent.
 *   <li>A bound on each backend that follows the free places, as in switches with a shared memory (Choudhury
 *       and Hahne, "Dynamic Queue Length Thresholds", 1998): with each backend that hangs, it leaves less to
 *       the next one, and guarantees nothing.
 *   <li>CoDel's own control law, a drop at shrinking intervals: it relies on senders that slow down after
 *       each drop. Callers in an open loop do not.
 *   <li>A budget of time for new requests in each iteration: it needs no controller, but admits sheddable
 *       requests at the beginning of an iteration, and refuses critical ones at its end.
 *   <li>Netty's own report of active time per loop: it shows how busy a loop is, not how long others wait. A
 *       loop can be busy all the time with short iterations.
 * </ul>
 *
 * <p>Concurrency: the share, the number of requests, and the turns of handshakes are confined to the event
 * loop. One atomic counts the loops that shed; while none does, a request only counts itself and reads it.
 * Each loop publishes its delay and its share in volatile fields. The sampler's thread writes volatile fields
 * of the guard for memory and observers; each of them may be up to one sample old.
 *
 * <p><b>Limitations.</b> A reload that adds a backend gives it its places at once: until as many of the
 * others' exchanges have ended, there may be more exchanges than {@code max-in-flight}. What a backend
 * needs beyond its part, it shares with those that hang. A load of many times the capacity grows by that
 * factor with each iteration, so that three iterations take most of a second, and a backlog of this size
 * is refused; several seconds while the loops are patient. If refusals alone exceed the capacity, no
 * share helps: a gateway that has just started on one core, with 3000 callers at twice the load of its
 * peak, refuses as many as it can for about ten seconds, and answers 80 % of the critical ones. Callers
 * in a closed loop, such as benchmarks with several hundred connections for each loop, can keep a loop
 * above the target by their number alone; the share then bounds their delay, and {@code
 * target-event-loop-delay} sets how much of it is accepted. On systems other than Linux, a loop that the
 * compiler's threads interrupt for tens of milliseconds again and again cannot be told from one with too
 * many requests. The heap figure needs a collection of the old generation, or two where the application
 * allocates meanwhile. Until then, and some seconds after each, it is 0, so a heap that fills without
 * being collected is not noticed.
 */
@NullMarked
package io.weir.overload;

import org.jspecify.annotations.NullMarked;
