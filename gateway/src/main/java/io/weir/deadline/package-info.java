/**
 * One time budget per exchange, from the decoded request head to the answer's last byte flushed to the
 * caller.
 *
 * <p>The budget keeps callers from waiting for an answer that cannot arrive, and the gateway from holding
 * resources for which no caller waits. Without it, a backend that hangs would keep every permit, connection
 * and caller that reaches it.
 *
 * <p>The budget is the backend's {@code deadline}, or the route's shorter one. A caller may shorten it, never
 * lengthen it, by {@code X-Request-Timeout}, {@code grpc-timeout} or {@code x-envoy-expected-rq-timeout-ms};
 * of several values the smallest applies. The time that remains at dispatch is sent to the backend, in {@code
 * X-Request-Timeout} and in the caller's dialects, so that a backend can give up when its caller does (Dean
 * and Barroso, <i>The Tail at Scale</i>; gRPC's deadlines).
 *
 * <p>Concurrency: a {@link io.weir.deadline.Deadline} is an immutable value. The exchange's timer uses it on
 * the exchange's own event loop, and is cancelled there.
 *
 * <p>Limitations: clocks of different hosts are not compared, so the network time to the backend is not
 * subtracted.
 */
@NullMarked
package io.weir.deadline;

import org.jspecify.annotations.NullMarked;
