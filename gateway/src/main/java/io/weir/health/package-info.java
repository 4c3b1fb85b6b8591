/**
 * Stops calls to a failing backend, and detects when it has recovered.
 *
 * <p>{@link io.weir.health.Health} is a small state machine with one atomic, immutable state that owns its
 * data: {@code CLOSED}, {@code OPEN}, {@code HALF_OPEN}, and the states that an operator sets: forced open,
 * forced closed, drained. Resilience4j computes and presents: its windows compute the rates, its property
 * names configure them, and its registry, meters, events and endpoints show the state
 * ({@link io.weir.health.RegisteredBreaker}). The state changes are decided here, because Resilience4j's
 * half-open state needs a number of calls within a time limit. With six calls every six seconds it never
 * closed again.
 *
 * <p><b>Closed to open.</b>
 *
 * <ul>
 *   <li><i>Failing</i>: the failure rate reaches its threshold. The rate is that of the last 100 calls, or of
 *       the last 60 s if these have fewer calls. It needs at least 20 calls.
 *   <li><i>Stalled</i>: at least {@code stall-calls} calls, all sent after the last final answer head, have
 *       each waited for {@code stall-duration}. So a hang opens the breaker at any traffic, before its calls
 *       reach their deadlines. Any number of slow calls among fast ones opens nothing, since every answer
 *       ends the stall. Calls that were sent before that answer count, too, once the answer is older than
 *       {@code stall-duration} and no permit is free, since no later call can be sent then. Without this
 *       rule, a backend that answered one of ten calls and then hung was noticed at the deadline of 20 s.
 *       While a permit is free they do not count: a few long calls among fast ones, such as reports, are no
 *       stall. A call whose caller has left counts if it had waited for three times its route's usual time,
 *       and for at least 100 ms. Otherwise a hang would not be noticed where callers leave before the
 *       deadline.
 *   <li><i>Slow</i>: the share of slow calls reaches {@code slow-call-rate-threshold}. With the defaults, a
 *       backend that answers more slowly than before stays in use.
 * </ul>
 *
 * <p><b>Open to half-open.</b> Calls are refused at once. A probe that is answered well half-opens the
 * breaker; after a stall, an answer to any call that was still waiting does the same.
 * {@link io.weir.health.ProbeSchedule} decides when a probe starts. A probe is a copy of a caller's GET or
 * HEAD request (a shadow probe), so no caller waits. Calls that hang when the breaker opens give their
 * permits back ({@link io.weir.health.Generation}); otherwise they would hold, until their deadlines, the
 * permits that the recovered backend needs.
 *
 * <p><b>Slow is not stalled.</b> The answer that ends an opening shows how long the backend takes now. Until
 * faster answers follow, a call stalls only after three times as long, at most the deadline ({@link
 * io.weir.health.Generation#recoveryNanos}). Otherwise a backend that has become slower than the stall time
 * opens again with the first calls of each ramp, which have no answers before them. The usual time of the
 * route follows too late: it is the median of thousands of calls, and where backups serve meanwhile, it is
 * theirs. A call that waits for a permit leaves the queue if it has less time left, too. In a simulation a
 * backend that needed 1.5 s instead of 20 ms, with a stall time of 1 s, opened 16 times in 30 s and answered
 * 45 % of 300 calls a second; with these rules once, and 97 %. With a backup, that got nearly all calls; with
 * these rules 7 %.
 *
 * <p><b>Pushback.</b> An instance says when it wants the next calls, by {@code Retry-After} of a 503 or 429
 * or by gRPC's pushback. It knows that better than a schedule of probes, and a retry that comes earlier is
 * refused again. So until then it gets no probes and no retries, and of several instances it is the last
 * choice ({@link io.weir.health.Pushback}). Callers whom its open breaker refuses read the rest of the time
 * in their {@code Retry-After}. Calls to a backend with one instance are not held back: only the breaker
 * refuses them. A route that is open alone has a pushback of its own. Health checks go on, since they are
 * configured apart from the calls. Rejected alternative: to eject the instance for that time. It would refuse
 * calls that a backend which sheds some of its load can do.
 *
 * <p><b>Half-open to closed.</b> A ramp: the limit on calls starts at
 * {@code permitted-number-of-calls-in-half-open-state} and grows by one with each good answer, so it doubles
 * once per service time. Calls above it wait in the queue. The ramp ends when it reaches the configured
 * limit, or after one second with a good answer and without a failure. A lack of traffic neither prolongs the
 * ramp nor makes it fail. The breaker opens again if the first three calls all fail, if the failure rate of
 * at least ten calls reaches the threshold, or if the backend stalls. If that happens within ten seconds of
 * the recovery, the next ramp has half the pace; the probes keep theirs.
 *
 * <p><b>Several instances.</b> Each instance of a backend has a {@code Health} of its own, and the backend's
 * follows from them: {@link io.weir.health.HealthGroup} has the rules by which an instance is ejected, or all
 * of them open together. Before that, an instance that has failed twice in a row cools down: the choice
 * prefers its peers until they have answered some calls, which is also the evidence that it fails alone. An
 * instance that is open gets probes only, while the others serve the callers. The probes are copies of
 * requests that go to other instances; where nothing can be copied, one caller serves as the probe, at
 * intervals that double up to half a minute. The limit on calls follows the share of the instances that are
 * in. The time-outs and 503s of one instance are evidence for the limit only if at least half of its peers
 * fail calls, too: otherwise a few of them lower the limit of the whole backend.
 *
 * <p><b>Backups</b> get calls only while each primary is out, or ramps up and has no room. Where the
 * primaries fail or hang alike while a backup is in reserve, they open, and the backend does not: its
 * evidence starts afresh with the backups. It opens if they fail, too. A primary in its ramp that fails
 * five times in a row opens again although its peers are backups: the choice has no other primary that it
 * could prefer.
 *
 * <p><b>A route is not the backend.</b> The outcomes of a backend are kept with their origins: the route and
 * the caller of each of the last 128 calls ({@link io.weir.health.OutcomeSpread}). If the rate reaches the
 * threshold, and the failures are those of some routes while others are answered well, the backend stays
 * closed, and each route that fails opens by its own window ({@link io.weir.health.RouteHealth}). Such a
 * route has a {@code Health} of its own with probes and a ramp; calls above its ramp are refused, since a
 * route has no queue. A route hangs if its calls, all sent after its last answer, have waited for the stall
 * duration while the backend has answered other calls; then its calls give their permits back, so that other
 * routes have the whole limit. Its time-outs and 503s are evidence against the route although the limit would
 * absorb them, and none for the limit: a lower limit does not help a route whose siblings are answered well.
 * Only good answers count that came after the failures began, and so many that luck does not explain them.
 * So routes that fail alike open the backend as early as one route would. Its opening judges all evidence so
 * far: the routes then start afresh, except one that is open. At most 64 routes of a backend are told apart;
 * the others share one state. A backend with one route has none of this. A route that stalled closes at
 * its first answer, without a ramp: it may only have become slow, and calls beyond the ramp would be refused.
 *
 * <p><b>A slow route costs its siblings little.</b> After that answer a call of the route stalls only after
 * three times as long, as it is for a backend, and it leaves the queue if it has less time left. As long as
 * its answers take the stall time, the route is slow: its calls hold most permits, and an adaptive limit
 * needs some seconds to follow. Until then its calls wait one class lower, and where all permits are in use,
 * calls of other routes go to the backend beyond an adaptive limit, up to half of it. In simulation a route
 * with 10 to 85 % of 20 to 300 calls a second became slow, from 20 ms to 1.2, 1.5 or 1.8 s, with a stall time
 * of 1 s (162 runs of 15 s with an adaptive limit of one instance and of three). It opened up to 12 times in
 * a run, and lost 46 % of its calls, its sibling 3.8 %; with these rules once at most, 27 % and .6 %. Of the
 * sibling's calls 1.9 % are lost without the calls beyond the limit, 1.2 % without the lower class.
 *
 * <p><b>A caller is not the backend.</b> The same origins show whether the failures are those of one caller:
 * without the caller that fails most, the others fail less than half as often as the threshold demands. Or
 * those of a few: each caller counts as at most the sixteenth part of the calls. Then nothing opens.
 * Otherwise one caller with a request that fails could close the backend for all others. If half of all
 * callers fail, or the only one does, the backend opens. A caller is an address, of IPv6 a network, or the
 * tenant where {@code fairness.key} is configured. Callers are told apart by a hash with 64 values.
 *
 * <p><b>Drained by hand.</b> An operator takes an instance out with {@link
 * io.weir.health.OperatorHold#drain}. This is a state of its own, and not a forced one: a forced state
 * belongs to the backend, and an operator who forces and releases the backend must not return an instance
 * that another operator has drained. A drained instance gets no probes. Its calls end and are no evidence. It
 * returns with a ramp, since it may have restarted.
 *
 * <p><b>Health checks</b> ({@link io.weir.health.HealthChecks}, off unless configured) are the evidence that
 * needs no calls. An instance is in if neither its calls nor its check keep it out. A failing check counts
 * even while calls succeed, because an instance announces its end in this way. A passing check does not
 * return an instance that calls have ejected, because a health path shows little about the calls. Checks that
 * fail at every instance in use are ignored: a wrong path must not take a backend down. The check of a
 * backend with one instance is therefore only shown; {@code recovery.probe: path} finds its recovery. The
 * state remains one object: an open state knows whether calls, the check, or both keep it. Why not Envoy's
 * panic threshold: it sends calls to all instances, those that calls have ejected included.
 *
 * <p><b>Only the backend's behaviour is evidence.</b> The engine decides which results are reported: the
 * gateway's own refusals and local errors never count, nor do callers that leave earlier than described
 * above, or that set deadlines which no backend can meet. A time-out does not count if the gateway itself
 * paused for a quarter of the wait, and for 100 ms, and the rest of the wait is less than three times the
 * usual time, or that is unknown: a gateway whose processor is throttled pauses in each wait. Results of
 * calls that were sent before the last opening are ignored, because they have already opened the breaker
 * once.
 *
 * <p><b>Overload is not failure.</b> With an adaptive limit, missed deadlines and fast 503s lower the
 * limit. The breaker counts them only while the limit is at its smallest value, or while less than a tenth of
 * the calls is answered. Otherwise an overload that the limit ends within a second opens the breaker, which
 * then refuses all calls instead of the surplus. A stall opens the breaker in any case.
 *
 * <p><b>Why not</b> count overdue calls in the window of the last calls, as this package once did: five calls
 * of 1.5 s among 2000 fast calls per second opened the breaker with a window of ten, and 2310 of 12 631 calls
 * were refused. Why not Envoy's outlier ejection or HAProxy's error-limit with checks: both remove the
 * backend for a configured time, and lose the traffic of that time after its recovery.
 *
 * <p><b>Concurrency.</b> One compare-and-set replaces the whole state. The state of a backend with several
 * instances is derived after each transition of an instance; {@code HealthGroupCollisions} (jcstress) has the
 * pairs of transitions that may meet. A refusal while open reads the state,
 * counts, and takes no lock.
 *
 * <p><b>Limitations.</b> A 429 of a backend whose calls all have the same address, and no tenant, never
 * begins a pushback: it may be the quota of one caller. A new instance gets calls before its first check. An
 * instance whose check reports overload by 503 is taken out, and its load goes to the others. Each gateway
 * decides by itself; replicas do not share breakers. If a backend sends the heads of its answers and then
 * stalls, calls whose callers leave early are no evidence; only a missed deadline is. A breaker that is not
 * enforced keeps the permits of hanging calls.
 */
@NullMarked
package io.weir.health;

import org.jspecify.annotations.NullMarked;
