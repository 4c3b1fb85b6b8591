/**
 * The compartment of a backend: an exact limit on its concurrent calls, with a bounded first-in-first-out
 * queue in front; and the estimate of a call's uncongested time.
 *
 * <h2>What it protects against</h2>
 *
 * A backend that slows down keeps every call longer. Without a limit the calls accumulate until memory,
 * connections or the backend itself are exhausted, and callers of healthy backends suffer too. With the
 * limit, a backend takes at most {@code max-concurrent-calls}. A burst waits, in order and for a short time;
 * calls that do not fit are refused at once. The limit also keeps an overloaded backend at the load that it
 * can carry, where it does the most useful work.
 *
 * <h2>Algorithm</h2>
 *
 * {@link io.weir.limit.QueueingBulkhead} is a counting semaphore. Its state is one packed word (permits in
 * use, waiters, revision of the limits), changed by compare-and-set; beside it is a Michael-Scott queue
 * ({@link java.util.concurrent.ConcurrentLinkedQueue}) of the waiters. Permits are handed from call to call,
 * as in the semaphores of "CQS: A Formally-Verified Framework for Fair and Abortable Synchronization" (Koval,
 * Khalanskiy, Alistarh, 2023): a release decides by the counters alone that a waiter receives the permit, and
 * only then looks for the waiter. Unlike in CQS, a waiter that leaves is unlinked, not marked, since under
 * overload most waiters leave.
 *
 * <h2>Estimate of the uncongested time</h2>
 *
 * {@link io.weir.limit.LittlesLaw} measures how long a call takes while its backend is not congested. A
 * refusal derives its {@code Retry-After} from the median of that time, and the metrics show it with the
 * other figures of Little's law (arrival rate, concurrent calls, suggested limit). It is in this package, and
 * not with the metrics, because a control input belongs to the capability that uses it. Definitions, sources
 * and limitations are in the class's documentation. {@link io.weir.limit.LogBuckets} is its histogram:
 * bounded relative error, fixed memory, and one counter increment per call.
 *
 * <p>{@link io.weir.limit.UsualTime} is the estimate for one route: the median of its recent calls, congested
 * or not. Admission uses it: a waiting call whose remaining time is shorter cannot be served in time, so it
 * is refused instead of dispatched. The estimate is the route's own, since a fast route must not be judged by
 * the slow calls of others; and it excludes the time for which callers were waited for.
 *
 * <h2>Concurrency</h2>
 *
 * All decisions (granted, queued, full, handed on, resized) are linearizable at the word, where a permit that
 * is promised to a waiter counts as in use; the comment above the class shows the interleavings and the
 * invariant that resolves them. The algorithm is lock-free: no thread waits for another one, and any thread
 * that finds an incomplete resize completes it. Taking an uncontended permit is one compare-and-set, and so
 * is its release. Three tests check this: random operations against a sequential model, Lincheck's model
 * checker, and jcstress ({@code gateway/concurrency}).
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>{@link java.util.concurrent.Semaphore}: waiting blocks the thread, and here that is an event loop
 *       with hundreds of connections.
 *   <li>Resilience4j's {@code SemaphoreBulkhead}: {@code tryAcquirePermission()} blocks for {@code
 *       maxWaitDuration}, also under its Reactor operator (Resilience4j #1592), and {@code changeConfig}
 *       waits under a lock until enough permits are released, while all other calls are refused. Users still
 *       see a Resilience4j bulkhead: {@link io.weir.limit.RegisteredBulkhead} puts this one into
 *       Resilience4j's registry.
 *   <li>The connection pool's pending queue: it is not exact, has no order with cancellation, and does not
 *       show which calls wait.
 *   <li>One immutable state in an {@code AtomicReference}, queue included: simpler, but every permit would
 *       copy or allocate.
 *   <li>One thread at a time that serves the queue (a work-in-progress counter): simpler too, but if that
 *       thread is suspended, permits stay unused until it runs again.
 *   <li>An adaptive limit: it can be added on top, through {@link io.weir.limit.QueueingBulkhead#resize}.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>It counts permits, not holders: the exchange guarantees exactly-once release. A surplus release is
 *       noticed only when no permit is in use.
 *   <li>It has no clock: the exchange limits how long a waiter waits, and makes it leave.
 *   <li>A thread that is suspended while it delivers a permit to a waiter withholds the permit until it
 *       continues. If that waiter leaves meanwhile, the permit counts as in use although no call has it.
 *   <li>Leaving is linear in the length of the queue. Waiters that expire are at its head, so it is short for
 *       them.
 *   <li>A waiter's callback runs on the thread that freed the permit, and switches to its own event loop
 *       itself.
 *   <li>Of the events of Resilience4j's bulkheads, only those of rejected calls are published.
 * </ul>
 */
@NullMarked
package io.weir.limit;

import org.jspecify.annotations.NullMarked;
