/**
 * Threads and how long requests hold them: the blocked servlet thread, and a thread pool measured by Little's
 * law.
 *
 * <h2>Blocked servlet thread</h2>
 * In the servlet stacks, {@code /block}, {@code /deferred}, {@code /completable} and {@code /virtual} do the
 * same job of two seconds. The first does it on the servlet thread, so the server serves at most
 * {@code server.tomcat.threads.max} such requests at a time. The others hand the job to another thread and
 * release the servlet thread. The answers name both threads. On {@code mvc-jdbc-virtual} the first holds a
 * virtual thread, which costs almost nothing.
 *
 * <h2>Thread pool under Little's law</h2>
 * {@code /work} is a service behind a pool of {@code sim.pool.workers} threads and a queue. Its work
 * alternates between computing digits of √2 and waiting. {@link io.weir.sim.threads.WorkPoolStatistics}
 * measures the arrival rate λ and the times in the queue and in service, and computes L = λ · W, the average
 * number of active requests. Meters and {@link io.weir.sim.threads.WorkPoolMXBean} show these values.
 *
 * <table><caption>When every worker is busy and the queue is full</caption>
 * <tr><td>{@code reject}</td><td>the new request gets 503; waiting requests keep their place</td></tr>
 * <tr><td>{@code discard-oldest}</td><td>the request that has waited longest gets 503; the new one takes its
 * place</td></tr>
 * <tr><td>{@code caller-runs}</td><td>the calling thread does the work: this holds a servlet thread, or on
 * Netty blocks an event loop with all its connections; no request is refused</td></tr>
 * </table>
 *
 * <p>A refused or discarded request does not count as an arrival. The JDK's own discarding policy drops the
 * oldest task silently, and its caller would wait for ever; this policy answers it.
 *
 * <p>With {@code sim.pool.queue-capacity=-1} the pool is a backend that does not recover: it works through a
 * queue of requests whose callers have left.
 */
@NullMarked
package io.weir.sim.threads;

import org.jspecify.annotations.NullMarked;
