/**
 * The compartment of a backend: an exact cap on its concurrent calls, with a bounded first-in-first-out queue in
 * front.
 *
 * <h2>What it protects against</h2>
 *
 * A backend that slows down keeps every call longer. Without a cap the calls pile up until memory, connections or the
 * backend itself give in, and callers of healthy backends suffer too. With it, a backend takes up at most its {@code
 * max-concurrent-calls}; a burst waits, in order and for a short while, and what does not fit is refused at once. It
 * also keeps an overloaded backend at the load that it can carry, where it does the most useful work.
 *
 * <h2>Algorithm</h2>
 *
 * {@link io.weir.limit.QueueingBulkhead} is a counting semaphore whose state is one packed word (permits out,
 * waiters, revision of the limits), changed by compare-and-set, and a Michael-Scott queue ({@link
 * java.util.concurrent.ConcurrentLinkedQueue}) of the waiters. Permits go from hand to hand, as in the semaphores of
 * "CQS: A Formally-Verified Framework for Fair and Abortable Synchronization" (Koval, Khalanskiy, Alistarh, 2023): a
 * release decides by the counters alone that the permit is somebody's, and only then meets the waiter. Here a waiter
 * that has left is unlinked rather than marked, since under overload most of a queue leaves.
 *
 * <h2>Concurrency</h2>
 *
 * All decisions (granted, queued, full, handed on, resized) are linearizable at the word, where a permit on its way to
 * a waiter counts as in use; the comment above the class draws the interleavings and the invariant that settles them.
 * Lock-free: no thread waits for another one, and a resize that was suspended half done is finished by whoever meets
 * it. An uncontended permit is one compare-and-set, and so is its release. A random-operation test against a
 * sequential model, Lincheck's model checker and jcstress ({@code gateway/concurrency}) hold it to that.
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>{@link java.util.concurrent.Semaphore}: waiting parks the thread, and here that is an event loop with hundreds
 *       of connections on it.
 *   <li>Resilience4j's {@code SemaphoreBulkhead}: {@code tryAcquirePermission()} blocks for {@code maxWaitDuration},
 *       also under its Reactor operator (Resilience4j #1592), and {@code changeConfig} waits under a lock until enough
 *       permits are back, while everybody else is refused. It stays what users see: {@link
 *       io.weir.limit.RegisteredBulkhead} puts this one into its registry.
 *   <li>The connection pool's pending queue: it is not exact, has no order with cancellation, and says nothing about
 *       what waits in it.
 *   <li>One immutable state in an {@code AtomicReference}, queue included: simpler, but every permit would copy or
 *       allocate.
 *   <li>One thread at a time that serves the queue (a work-in-progress counter): simpler too, but whoever serves it
 *       can be suspended, and permits lie idle until it runs again.
 *   <li>An adaptive limit: it may come on top, through {@link io.weir.limit.QueueingBulkhead#resize}.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>It counts permits, not holders: exactly-once release is the exchange's part. A release too many is noticed
 *       only when no permit is out.
 *   <li>It has no clock: how long a waiter waits is the exchange's part, which makes it leave.
 *   <li>A thread that is suspended while it brings a permit to a waiter keeps it from everybody until it goes on. If
 *       that waiter leaves meanwhile, the permit counts as in use and nobody has it.
 *   <li>Leaving is linear in the length of the queue. Those who expire stand at its head, so it is short for them.
 *   <li>A waiter is called on the thread that made the room, and hops to its own event loop itself.
 *   <li>Of the events of Resilience4j's bulkheads, only those of rejected calls are published.
 * </ul>
 */
@NullMarked
package io.weir.limit;

import org.jspecify.annotations.NullMarked;
