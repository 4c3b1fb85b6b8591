/**
 * Who holds a thread, and for how long: the blocked servlet thread, and a thread pool under Little's law.
 *
 * <h2>Blocked servlet thread</h2>
 * {@code /block}, {@code /deferred}, {@code /completable} and {@code /virtual} do the same two-second job, in the servlet
 * stacks. The first does it on the servlet thread, so {@code server.tomcat.threads.max} such requests are all that the
 * server can do at a time; the others hand it to a thread of their own and give the servlet thread back. Their answers
 * name both threads. On {@code mvc-jdbc-virtual} the first holds a virtual thread, which nobody misses.
 *
 * <h2>Thread pool under Little's law</h2>
 * {@code /work} is a service behind a pool of {@code sim.pool.workers} threads and a queue. Its work alternates between
 * computing digits of √2 and waiting. {@link io.weir.sim.threads.LittlesLaw} measures the arrival rate λ, the time in the
 * queue and in service, and from them L = λ · W, the average number of active requests; meters and
 * {@link io.weir.sim.threads.WorkPoolMXBean} show them.
 *
 * <table><caption>When every worker is busy and the queue is full</caption>
 * <tr><td>{@code reject}</td><td>the new request gets 503; those who wait keep their place</td></tr>
 * <tr><td>{@code discard-oldest}</td><td>the one who has waited longest gets 503, and the new one its place</td></tr>
 * <tr><td>{@code caller-runs}</td><td>the thread that brought it does the work: a servlet thread is held, or on Netty an
 * event loop is blocked with all its connections; nobody is refused</td></tr>
 * </table>
 *
 * <p>A request that is refused or discarded counts as not having arrived: it never was in the system. The JDK's own
 * discarding policy forgets the oldest task silently, and its caller would wait for ever; this one answers it.
 *
 * <p>With {@code sim.pool.queue-capacity=-1} the pool is the backend that does not recover: it works off a queue of
 * requests whose callers have long left.
 */
@NullMarked
package io.weir.sim.threads;

import org.jspecify.annotations.NullMarked;
