/**
 * One budget of time per exchange, from the decoded request head to the answer's last byte flushed to the caller.
 *
 * <p>It protects callers from waiting for what cannot come, and the gateway from holding what nobody waits for: without
 * it, a backend that hangs collects every permit, connection and caller that ever asks for it.
 *
 * <p>The budget is the backend's {@code deadline}, or the route's shorter one. A caller may shorten it, never lengthen
 * it, by {@code X-Request-Timeout}, {@code grpc-timeout} or {@code x-envoy-expected-rq-timeout-ms}; of several the
 * smallest holds. What is left at dispatch travels on, in {@code X-Request-Timeout} and in the dialects that came in,
 * so that a backend can give up when its caller does (Dean and Barroso, <i>The Tail at Scale</i>; gRPC's deadlines).
 *
 * <p>Concurrency: a {@link io.weir.deadline.Deadline} is an immutable value. The timer that it feeds lives on the
 * exchange's own event loop, and is cancelled there.
 *
 * <p>Limitations: clocks are not compared between hosts, so time on the wire to the backend is not subtracted.
 */
@NullMarked
package io.weir.deadline;

import org.jspecify.annotations.NullMarked;
