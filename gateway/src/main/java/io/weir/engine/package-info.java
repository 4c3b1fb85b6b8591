/**
 * The engine: one state machine per exchange, from admission to the last byte.
 *
 * <p>An {@link io.weir.engine.Exchange} takes a caller's request through the compartment of a backend:
 * deadline, rate limit, breaker, reading the body ahead, bulkhead, breaker again, pool. The engine knows no
 * web framework. A door presents the caller's side as a {@link io.weir.engine.Caller}; the backend's side is
 * Reactor Netty's client. Two immutable objects describe a route and its backend:
 * {@link io.weir.engine.Route} and {@link io.weir.engine.Backend}. An exchange keeps both from its start to
 * its end, so a reload can replace them in the meantime. A {@code Backend} consists of its
 * {@link io.weir.engine.BackendSettings} and of its live {@link io.weir.engine.Compartment}, which every
 * reload keeps: limits, instances with their breakers and pools, and the
 * {@link io.weir.engine.ServiceTimeEstimate}, which the engine itself feeds. Observers only receive values:
 * no decision depends on a meter.
 *
 * <p>Four packages have parts that know no exchange: {@code body} (bodies on their way), {@code slowcaller}
 * (what slow callers hold, and which of them end), {@code websocket} (open tunnels), and {@code probe} (the
 * gateway's own calls). What all exchanges of an engine use is in {@link io.weir.engine.EngineResources};
 * only the exchange knows the engine.
 *
 * <p>The exchange itself only sequences its phases and guarantees a single end. Each phase is an object that
 * owns the resources of that phase, gives them back, and knows when its next time-out is due. All other state
 * is in parts that last for the whole exchange:
 *
 * <pre>
 *  ExchangePhase        the current phase, one of:
 *    Authorizing          the call to the route's authorizer, if it has one
 *    ReadingAhead         the request's body arrives; no permit yet
 *    Admission            queue; owns the two below                           per attempt
 *      InstanceEntry      breakers, probe, choice of the instance
 *      Permits            of the route, the streams, the bulkhead
 *    Attempt              connection; owns the admission                      per attempt
 *    Hedging              two attempts at once, until one answers or fails       per exchange
 *    Backoff              the pause between two attempts; drains the answer
 *    Answering            the answer's body on its way; owns the attempt
 *    Flushing             the last bytes to the caller
 *  ExchangeContext      what the phases see; owns the four below              whole exchange
 *  ExchangeTimer        the deadline and the only timer                       whole exchange
 *  ExchangeRecord       the facts for observers                               whole exchange
 *  RequestBody          the body: bytes read ahead, then the rest             from the start on
 *  ActiveFallback       the fallback and its permit                           from a refusal on
 * </pre>
 *
 * <p>{@link io.weir.engine.LastGoodAnswers} records the good answers of a route that keeps them, and finds
 * the one that replaces a failure. It is asked before a static fallback and after another backend. Where it
 * replaces the backend's own answer, {@link io.weir.engine.Backoff} drains that answer first, so that the
 * connection stays, and an error page that stalls costs its caller 50 ms.
 *
 * <p>The parts decide, and the exchange acts. A part returns a {@link io.weir.engine.Decision}, such as
 * {@code ADMIT}, {@code QUEUE}, {@code Refuse} or {@code Retry}; {@link io.weir.engine.Exchange} carries
 * decisions out in one loop. No phase starts the next one, and none knows the exchange: a phase sees an
 * {@link io.weir.engine.ExchangeContext}, to which it reports events. A phase does call the parts that it
 * owns. A refusal can lead to a fallback, and the fallback to another refusal: that is an iteration, not a
 * recursion. Decisions without data are constants. A test bounds the bytes per request.
 *
 * <p>{@link io.weir.engine.QuotaCheck} takes a permit of the route's rate limit at the start of an exchange,
 * before any of the phases, or, where all gateways share the limit, after
 * {@link io.weir.engine.AwaitedQuota}: a caller over its quota costs no permit, no probe and no byte of the
 * body. Before
 * it, {@link io.weir.engine.AuthenticationCheck} judges the token of a request whose route requires one. If
 * the keys of its issuer are not known, the exchange waits for them in {@link io.weir.engine.AwaitingKeys},
 * and holds nothing meanwhile.
 *
 * <p>After these checks, {@link io.weir.engine.Authorizing} asks the authorizer of a route that has one. The
 * call is an {@link io.weir.engine.Exchange} of its own, through the authorizer's compartment, with the
 * {@link io.weir.engine.AuthorizerCall} as its caller. So it has a queue, breaker, pool, deadline and health
 * like any call, and a single end. The waiting exchange holds only this call, and ends it if it ends first.
 *
 * <p>An attempt has three helpers, each for one decision: {@link io.weir.engine.HealthEvidence} (the evidence
 * about the backend's health), {@link io.weir.engine.RetryDecider} (whether another attempt follows), and
 * {@link io.weir.engine.AttemptTimeout} (when it has waited for too long). {@link io.weir.body.Relay}
 * passes a body on as it arrives; {@link io.weir.body.BodyAggregator} collects a small answer, which then
 * costs one write. An answer that is incomplete after 5 to 10 ms is passed on as it arrives: the caller may
 * wait for the head or for a first part, and for a backend that pauses it does not matter to save writes.
 * {@link io.weir.body.PauseDetector} finds such answers with one task for each event loop. After the head
 * is passed on, the gateway breaks a late answer off instead of refusing the request.
 *
 * <p><b>Samples.</b> Each permit of a backend's bulkhead is one sample of its limit, from the permit to its
 * release; {@link io.weir.engine.Permits} hold both. The end is evidence if the backend caused it: an
 * answer (among them a 503, and a 429 with {@code Retry-After}, as signs of overload), a failed connection, a
 * deadline. An answer that its caller does not read ends the sample where the call gives its permit back,
 * without the caller's time: else the limit would not see how busy slow readers keep the permits. No evidence
 * comes from callers who leave or send slowly, from the gateway's own errors and pauses, or from calls whose
 * permits the breaker has given back. Probes and streams hold no such permit.
 *
 * <p><b>Slow callers.</b> A caller must not hold a permit while it sends or reads slowly. {@link
 * io.weir.engine.ReadingAhead} reads the body before the exchange asks for a permit, up to a limit for each
 * exchange, and {@link io.weir.slowcaller.ReadAheadBudget} bounds all exchanges together. A caller that sends
 * the rest of a larger body, or does not read its answer, may hold up a permit for 100 ms in total, and a
 * reader for 10 ms while other calls wait for a permit: then {@link io.weir.engine.HeldUpCall} moves the call
 * to the compartment of streams, which is for calls that last long. With 100 ms for all, 150 slow readers per
 * second keep 18 permits busy that the backend does not need; a limit of {@code auto} then stays below that,
 * and the others wait. Uploads keep their 100 ms, since a body of some hundred kilobytes takes longer than 10
 * ms over a usual network. A call moves only while it waits for its caller: while it waits for the backend,
 * its permit stands for work of the backend, whatever the caller has done before. {@link
 * io.weir.slowcaller.MinimumRate} detects callers that move a byte from time to time and so never reach an
 * idle time-out.
 *
 * <p>One kind of call moves while it waits for the backend: beside an {@code auto} limit, one that is {@link
 * io.weir.engine.LeftBehind left behind}, such as a long poll, or a call to a dead shard. In a queue it would
 * have been answered before those that came much later. While such calls held the permits, the limit could
 * not learn from those that end. If they hold all permits, nothing could overtake them: so a few calls are
 * sent beyond the limit. Until it is known that a call hangs, it holds a permit; the limit in force is higher
 * by as many. A fixed limit is exact: there no call moves, and none is sent beyond it. In simulation (100
 * calls a second of 20 ms, deadline 2 s), 17 to 22 % of the others were answered without the rule while 20 of
 * the 100 hung; with it, but without the added permits, 38 to 100 % by chance while 40 of them hung.
 * Why not copies of requests, as an open breaker sends: the call itself shows the
 * same, also if it is a POST, and its caller has the answer. A limitation: where a route queues inside a
 * backend while others are answered, its calls are left behind, too, up to half of the compartment; such a
 * route needs a limit of its own.
 *
 * <p>Where the compartment is full and all permits are in use, or where unread answers take half of the
 * direct memory, {@link io.weir.slowcaller.SlowCallers} ends the slowest calls that crawl. A usual download
 * shares the permits with all other calls, since a broken answer costs its caller more than a refusal; it
 * ends only if unread answers take 7/8 of the direct memory. The rate is that of the last half seconds,
 * because the buffers of sockets absorb the first megabytes at any speed. A socket reports in steps of a
 * third of its buffer what its caller reads, so a caller counts as one that moves nothing after 2 s at the
 * earliest. gRPC and streams may pause in sending for as long as they want. Where the bulkhead is not
 * enforced, no call ends for a permit. Rejected alternatives: buffering whole bodies, as nginx does, needs
 * files or unbounded memory. Admitting every call before its body is read costs healthy calls their permits
 * in a burst of slow uploads.
 *
 * <p>Reactor Netty reads an answer ahead of a caller who reads slowly: at most 64 buffers, about 1 MB. A
 * window of {@code read-ahead} bytes was measured and not taken. It took 140 to 185 KiB for each unread
 * answer in place of 1100 KiB, but one fast HTTP/1.1 caller received 121 MB/s in place of 172. On a busy
 * machine, the many short waits for the next 64 KB added up to a third of the deadline, and the backend was
 * blamed for a caller who read slowly.
 *
 * <p>The cost: a backend sees the head of a request only when {@code read-ahead} bytes or the whole body have
 * arrived. A conversation in small parts over HTTP/1.1 needs {@code mode: stream}.
 *
 * <p>Why a state machine and not a chain of operators: a cancellation, a failure, a time-out and a completion
 * can arrive at any moment and on any thread, and every permit, connection and buffer must be given back
 * exactly once in any order of events. The state machine is confined to one event loop and has a single end,
 * so reading one class is enough to check this. In a chain of operators, exactly-once release depends on how
 * eight operators propagate a cancellation.
 *
 * <p>An answer that fails after it has begun is reset, so that its receiver cannot take it for complete. A
 * gRPC answer ends with a status in its trailers instead: gRPC's callers report every reset as INTERNAL. The
 * relay then does not pass the failure on. It completes the caller's side on the event loop of the backend's
 * connection, where no buffer can be on its way.
 *
 * <p>A request that asks for an upgrade is a call, with the bulkhead's permit, until the backend has opened
 * the tunnel. In addition it holds a stream's permit from its start to its end. So an ordinary request with
 * the fields of a handshake bypasses no limit.
 *
 * <p>A call is a sample for the estimate of the service time only if the backend has answered it or has let
 * its deadline pass. Callers who leave, deadlines of callers that are too short for any answer, refused
 * connections and the gateway's own refusals are no samples: they are short, and would make the estimate, the
 * suggested limit and {@code Retry-After} collapse.
 *
 * <p>The engine feeds the backend's health, since only the engine knows which side ended an exchange.
 * {@link io.weir.overload.LoopPauses} keep the gateway's own pauses out of the evidence. A request that an
 * open breaker refuses may serve as a probe ({@link io.weir.engine.ProbeChoice}); the gateway's own requests
 * are {@link io.weir.probe.ProbeRequest}s, each sent by a {@link io.weir.probe.ProbeCall}, and so are
 * health checks ({@link io.weir.probe.HealthChecker}). After a pause,
 * the connect time-out of an attempt is granted once more, within the deadline: a timer may fire before the
 * event loop reads that the connection is established. {@link io.weir.body.Relay} separates the time in
 * which the caller sent its request or read its answer from the backend's.
 *
 * <p><b>Hedging.</b> While two attempts run, the phase is {@link io.weir.engine.Hedging}, which owns both. An
 * attempt asks it in three places: when its time to wait is over, when it has the head of an answer, and when
 * it has failed. It then ends one attempt, as if its caller had left, and the other one is the phase again.
 * So no other phase knows of hedges, and an answer that has begun never has a second attempt beside it.
 * Rejected alternatives: an exchange of its own for the second attempt, as an authorizer has, needs a caller
 * that forwards the answer from one state machine to the other, with a body that has one owner too many.
 * Attempts in a list would make each phase ask which one is meant. To wait in the queue for the second permit
 * would take the permit from a call that has none.
 *
 * <p><b>Injected faults.</b> {@link io.weir.engine.Engine} reads one field, which is null while no
 * fault is active. An attempt with a fault is an {@link io.weir.engine.InjectedAttempt} or a {@link
 * io.weir.engine.TruncatedAttempt} in place of the real one, so every other phase, and the release of every
 * resource, is the same. {@link io.weir.probe.InjectedProbe} applies faults to probes and health checks. An
 * attempt with a latency is a phase of its own and not a delayed subscription: the exchange's timer, its
 * caller, its deadline and its instance can end it in the way in which they end any other attempt.
 *
 * <p>When an exchange begins, its {@link io.weir.engine.RouteObserver} can give it an
 * {@link io.weir.engine.ExchangeTrace}, which receives each step.
 *
 * <p>Limitations: the connection to the backend may live on another event loop than the caller's; each signal
 * then hops between the two. If a caller has received all bytes of the {@code Content-Length} and leaves
 * before the gateway knows that the answer is complete, the record may say that the caller left early.
 */
@NullMarked
package io.weir.engine;

import org.jspecify.annotations.NullMarked;
