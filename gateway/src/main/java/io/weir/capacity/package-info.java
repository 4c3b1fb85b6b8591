/**
 * The capacity that a backend states: a field of its answers to calls, health checks and probes has the
 * number of calls that the instance takes at once.
 *
 * <p><b>Protects against</b> a limit that the gateway finds too slowly, or not at all. With one to four slow
 * workers a measurement takes as long as the work ({@link io.weir.limit}, limitations), and a backend that
 * has just grown, shrunk or changed its mix knows so before its latency shows it.
 *
 * <p><b>Algorithm.</b> {@link io.weir.capacity.StatedCapacity} reads the field of an answer's head or
 * trailers, removes it, and keeps the number for ten seconds from its last repetition. In that time it takes
 * the place of the instance's share of the learnt limit; the sum over the instances that take calls, within
 * {@code bulkhead.limit}, is in force in place of the learnt limit ({@code io.weir.limit.StatedLimit}). An
 * instance that has as many calls as it states is chosen only where no other one has room. No timer runs: the
 * time is compared when a call starts or ends, at most ten times a second.
 *
 * <p><b>A load report</b> of ORCA ({@link io.weir.capacity.LoadReport}) has a utilisation instead of a
 * number. Above 1 it is a ceiling of the instance's share of the learnt limit: its calls in flight divided by
 * the utilisation. A later report below 1 raises the ceiling to the same quotient, but does not prolong it.
 * It is no floor: a processor that is idle says nothing about what the backend waits for. Several gateways
 * lower their limits alike.
 *
 * <p><b>An agent</b> beside an instance is asked at an interval, off the path of the calls ({@code
 * io.weir.probe.AgentCheck}). Its line has the words of HAProxy's {@code agent-check}. {@code maxconn:30} is
 * a number like that of the field. {@code 75%} is a part of the instance's weight in the choice: agents that
 * all state little change nothing, where a part of the capacity would lower the limit of a backend that is
 * merely busy. {@code drain}, {@code maint} and 0 %, and {@code down}, {@code stopped} and {@code fail}, take
 * the instance out like a failed health check, until {@code ready}, a percentage, or {@code up}. Like a check
 * they never take out the last instance ({@link io.weir.health.HealthChecks}): a script that is wrong at
 * every instance must not end the service, and calls show by themselves that it has ended. A word that is no
 * longer said stays ({@link io.weir.capacity.AgentReport}), and an agent that is gone takes nothing back.
 * HAProxy waits for it for ever. Here its words end after a minute: an instance that is out because of a dead
 * script costs more than one that is tried a minute too early, since its breaker judges the calls.
 *
 * <p><b>What is not believed</b> is counted, and the last good number counts until its ten seconds have
 * passed:
 *
 * <ul>
 *   <li>text that is neither a whole number from 0 to 1000000 nor a load report, and several fields in one
 *       answer;
 *   <li>a number that differs from the present one by a factor of 100 or more, and a utilisation from 100
 *       on. If the instance repeats the number for ten seconds, and nothing else, there is no present one any
 *       more, and it counts;
 *   <li>a 0 for longer than ten seconds. Until then the limit is its smallest one: an instance that has no
 *       room for a moment may say so, and one that never has is mistaken;
 *   <li>a word of an agent that is not known; the other words of its line count;
 *   <li>a number under which most calls time out or are shed: see {@code io.weir.limit.StatedLimit}.
 * </ul>
 *
 * <p><b>Figures</b> in simulation: answers in time at 4 times the capacity, divided by the capacity, deadline
 * 0.8 s, exponential times, medians of five runs of 30 s ({@code CapacitySignalSimulationTest}).
 *
 * <pre>
 *  workers     states nothing   its workers   its load report   1000   1     1 and 90 in turns
 *  1 x  20 ms  1.00             1.00           .99              .86
 *  4 x 200 ms   .87              .98           .98              .65    .51   .60
 *  10 x 50 ms  1.00                           1.00              .89    .20
 *  20 x 200 ms  .93                            .95
 * </pre>
 *
 * <p>Two instances of 1 x 20 ms and 4 x 200 ms that state 1 and 4: 1.00, and .79 without the rule for the
 * choice.
 *
 * <p><b>Why this and not that.</b>
 *
 * <ul>
 *   <li>The number as one more sample of the adaptive limit: that limit corrects what is too high within
 *       seconds, which is the time that the signal is there to save.
 *   <li>The number as a ceiling of the learnt limit: it does not help where that is too low.
 *   <li>An adaptive limit that goes on learning meanwhile: its probes halve the limit, and its growth brings
 *       no calls.
 * </ul>
 *
 * <p><b>Limitations.</b> A number that is too low costs throughput, down to {@code bulkhead.limit.min}: only
 * more calls could disprove it. The number is for one gateway; a backend behind several of them divides its
 * capacity itself. A balancer behind one address must not pass on the numbers of single servers. The last
 * good answer of a route whose number is in the trailers is not kept, as with other trailers.
 */
@NullMarked
package io.weir.capacity;

import org.jspecify.annotations.NullMarked;
