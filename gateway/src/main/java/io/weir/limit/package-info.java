/**
 * The compartment of a backend: an exact limit on its concurrent calls, fixed or adaptive, with a bounded
 * queue in front; and the estimate of a call's uncongested time.
 *
 * <h2>What it protects against</h2>
 *
 * A backend that slows down keeps every call longer. Without a limit the calls accumulate until memory,
 * connections or the backend itself are exhausted, and callers of healthy backends suffer too. With the
 * limit, a backend takes at most {@code max-concurrent-calls}. A burst waits for a short time; calls that do
 * not fit are refused at once. The limit also keeps an overloaded backend at the load that it can carry,
 * where it does the most useful work.
 *
 * <h2>Permits and queue: algorithm</h2>
 *
 * {@link io.weir.limit.QueueingBulkhead} is a counting semaphore. Its state is one packed word (permits in
 * use, waiters, limit), changed by compare-and-set. Permits are handed from call to call, as in the
 * semaphores of "CQS: A Formally-Verified Framework for Fair and Abortable Synchronization" (Koval,
 * Khalanskiy, Alistarh, 2023): a release decides by the counters alone that a waiter receives the permit, and
 * only afterwards looks for that waiter.
 *
 * <p>The waiters are in {@link io.weir.limit.WaitingCalls}: plain linked lists, one for each tenant that
 * waits. For each priority these lists are in a ring, which gives each tenant its turn, and in a heap, which
 * finds the longest list. {@link io.weir.limit.PermitQueue} changes them under a lock, which is taken only
 * while calls wait, and held for one change. A waiter that leaves, expires or is evicted is unlinked in
 * constant time, and any order of service is possible. Calls without a tenant need no look-up, and a priority
 * that nobody uses has no queue.
 *
 * <p>Before all priorities come the calls of a {@link io.weir.limit.GuaranteedShare}, as many as its route
 * may have. Rejected alternative: permits that only this route can take stay unused while it has no calls.
 *
 * <p>With {@code EVICT_OLDEST} a queue is first-in-first-out until one of its calls is refused (evicted, or
 * expired), then newest first until it is empty: under a standing overload a first-in-first-out queue serves
 * only calls that have waited for nearly the whole allowed time. The effect in simulation (10 workers of 50
 * ms, 4 times the capacity, adaptive limit, three runs): the 99th percentile of the answers falls from
 * 496–498 ms to 127–280 ms, the median from 458–482 ms to 70–97 ms.
 *
 * <h2>Priorities and tenants</h2>
 *
 * A waiting call has a {@link io.weir.limit.Priority}, its route's or that of a trusted proxy, and may have a
 * tenant ({@link io.weir.limit.TenantKey}). Permits go to the highest class first; one of fifty goes to the
 * lowest that waits, and so does one of fifty places in the queue (at least one of two). Within a class the
 * tenants take turns, and the tenant with the most waiting calls is refused first. In simulation (10 workers
 * of 50 ms, 4 times the capacity, 10/30/60 % critical, normal, sheddable calls): critical calls are answered
 * completely, normal ones get 99 % of what critical calls and the reserve leave, sheddable ones 2.2 % of the
 * capacity, and all together as much as without classes. In a hang 98 % of the permits go to critical calls.
 * Three tenants of 3 % each beside one of 70 % and one of 21 % are answered completely.
 *
 * <ul>
 *   <li>A retry or fallback waits one class below its call: otherwise the retries of critical calls push out
 *       the first attempts of normal ones, and an overload feeds itself.
 *   <li>A call of a slow route ({@link io.weir.health.RouteHealth#isSlow}) waits one class below its route's,
 *       too: it would hold its permit for the time of many calls of other routes. A call of another route is
 *       served soon in any case, and delays the slow one by little.
 *   <li>A call reads its tenant only if it has to wait. Where no call waits, nobody takes another's place.
 *   <li>The queue of a fixed limit still refuses newcomers in order of arrival. Only a call of a higher
 *       class, or with a tenant, takes a place there: of the newest call of the longest tenant of the lowest
 *       class. With evictions of the oldest call, the order of arrival would be lost for calls of one class,
 *       too.
 *   <li>The header of a tenant is believed from trusted proxies only: a caller that names itself would take
 *       as many shares as it has names. An IPv6 caller is its /64 network for the same reason. A claim is
 *       that of the token that the route has verified; a call of a route without authentication has none.
 *   <li>{@link io.weir.limit.Tenants} counts waiting calls by tenant for the endpoint, for two periods of at
 *       most 1000 names. The queue does not use the counts.
 * </ul>
 *
 * <h2>The adaptive limit</h2>
 *
 * {@link io.weir.limit.AdaptiveLimit} computes the limit from samples; {@link io.weir.limit.Knee} asks the
 * rules, which are a class each. Each rule exists because a measurement is worse without it. The figures
 * are goodput in the overload, divided by that of the best fixed limit, over 24 backends (10 and 64
 * workers; 20 and 200 ms; constant and exponential times; unbounded queue, bounded queue, processor
 * sharing). With all rules the mean is .981 and the worst .90. "Collapse" is the mean of 8 more backends,
 * whose throughput falls under too many calls; it is .785. For a named case ("latency x 4") the figure is
 * the answered share, with exponential times. An arrow leads from the figure with the rule to the figure
 * without it.
 *
 * <ul>
 *   <li><b>No growth unless the limit is the bottleneck</b> (half of the window's calls end while it is
 *       reached). Otherwise the limit of an idle backend grows to {@code max}, and a later overload meets no
 *       limit.
 *   <li><b>Base latency from calls that find at most half of the limit in use.</b> Without these samples
 *       every base latency needs a probe: worst .90 &rarr; .82; arrivals x 20 within a second, 1.00 &rarr;
 *       .86.
 *   <li><b>The first guess of the base latency is at least the limit divided by the rate of answers</b>
 *       (Little's law). The mean latency of a window misses calls that have not ended. Three instances of 20
 *       ms with 300 calls/s at even intervals, of which one becomes ten times slower: the few calls in it
 *       hold half of a limit of 8, which then does not grow but is halved for a probe; p99 of all callers in
 *       the worst of 20 runs 36 ms &rarr; 180 ms.
 *   <li><b>Probes</b> ({@link io.weir.limit.LatencyProbe}): half of the limit for a moment, every 10 s while
 *       the limit is reached, and when the limit seems far too high. Without them a slower backend is
 *       mistaken for a congested one: latency x 4, .98 &rarr; .27; worst .90 &rarr; .70. Probes start on
 *       whole seconds, so that several gateways probe together: a gateway that probes alone measures the
 *       queue of the others' calls.
 *   <li><b>A probe waits until a window has shown what the last growth brought.</b> Otherwise half of the
 *       new limit holds back the calls that the growth was for. 5 and 200 ms at even intervals, 200/s, shares
 *       3:1, 1:3, 3:1: refused 0 % &rarr; 3.0 %. Refused when calm, 72 runs: 1.7 % &rarr; 2.5 %. Its cost:
 *       the mean of these is .9685 instead of .9703.
 *   <li><b>A base latency of less than 96 samples, before the first probe, is a guess</b>: if the calls of a
 *       window at the limit are longer, and fewer than before, theirs replaces it. The first calls that find
 *       much room are the short ones of a mix whose others keep the limit in use. The same mix at 100/s:
 *       refused 0 % &rarr; 7.3 %. Without "fewer", one worker in 96 cells: .901 &rarr; .889. Not above a
 *       third of the deadline, where a trial takes too long.
 *   <li><b>Fast answers beside long calls show that nothing queues.</b> If a quarter of the calls that were
 *       sent with three quarters of the limit in use are as fast as the base latency, and the mean call, by
 *       Little's law, takes 8 times as long, that mean replaces the base latency. Until the long calls end,
 *       they are in no other figure. 5 and 200 ms, shares 3:1, 1:3, 3:1, 1000/s: refused 0 % &rarr; 6.4 %. A
 *       route of 60 % of 100 calls/s whose calls take 1 s instead of 20 ms, deadline 2 s: answered over 20 s,
 *       79 % &rarr; 55 %. With 4 times as long, one worker in 24 cells: calm, refused 7.5 % &rarr; 7.8 %. Not
 *       in a window with a time-out: priorities in a hang, .98 &rarr; .89.
 *   <li><b>A backend counts as slower only if it is as slow at half of the limit.</b> Then the base latency
 *       rises to the measured one. Otherwise calls queue, and it rises only as far as keeps the limit from
 *       shrinking. The latency to compare with is the limit divided by the rate of answers; if the limit was
 *       not the bottleneck in the last window, that of the calls counts, if it is less. Otherwise the rate is
 *       old, and a backend that becomes slower by and by can look like one with a queue. 100/s whose calls
 *       take 1 ms at first and 600 ms a minute later, deadline 2 s: in the worst run answered 100 % &rarr; 14
 *       %. Such ramps (40 cells), mean: .986 &rarr; .953.
 *   <li><b>A probe holds for three times half of the present latency</b>, if that is more than three times
 *       the base latency. Otherwise the probe of a backend that has become ten times slower ends before a
 *       call that was sent in it, finds nothing or counts the calls sent before, and the limit never
 *       follows.
 *   <li><b>A probe is given up if half of the calls in flight take longer to end than 1.5 times that.</b>
 *       Longer calls hold the permits then, and no call gets one meanwhile. 30 of 300 calls/s take 1.5 s
 *       instead of 20 ms, deadline 2 s: answered over 20 s, .988 &rarr; .940.
 *   <li><b>More calls at once that bring proportionally more answers show that nothing queues</b>, whatever
 *       the latency ({@link io.weir.limit.Ascent}). If all answers are slow, and fewer than before, and the
 *       first calls after the change were as slow as those sent behind them ({@link io.weir.limit.SlowRun}),
 *       or could not be compared at 12 times the base latency, the limit doubles for 1.1 latencies. If half
 *       of the additional calls are answered in that time, in 1.2 times the latency, the base latency
 *       becomes the present one, and the limit doubles again while it is in use; if not, it returns, with a
 *       back-off of 4 to 32 s. Steps of the service time without a queue (193 cells: x 2 to x 600, deadlines
 *       0.8, 1 and 2 s), mean answered over 25 s: .688 &rarr; .980 with this rule and the longer probes.
 *       Without "fewer than before", 18 of 128 cells with a queue miss .95 of the capacity instead of 13. A
 *       permit that is free for a moment does not begin the count of slow answers anew: at 20 calls/s that
 *       hid the change. Of the 193 cells, three seeds each, 8 miss what is wanted &rarr; 34.
 *   <li><b>A base latency at which more calls bring more answers counts up to .8 of the deadline</b>, any
 *       other up to half: a longer one may be that of a queue. A probe shows that, too, if half of the calls
 *       are as slow. The steps of at most 700 calls/s (169 cells, three seeds), from 5 s on: .999 &rarr; .994
 *       without the probes; 20 to 600 ms, 27/s, deadline .8 s: .89 &rarr; .38.
 *   <li><b>Growth by 1.5 while the latency shows no queue, reverted unless it brings 15 % more answers</b>,
 *       with a back-off of 2 to 16 s. Without the reversal: collapse .785 &rarr; .66; 4 workers of 200 ms,
 *       .80 &rarr; .70. Growth is not judged once the limit has not been in use for two seconds: the backend
 *       may be another one. Without this exception: latency x 4, 150/s, 1.00 &rarr; .97; 250/s, .98 &rarr;
 *       .95.
 *   <li><b>After growth the next window waits for one latency.</b> Otherwise calls of the old limit judge the
 *       new one: mean .981 &rarr; .975; 4 workers of 200 ms, .80 &rarr; .75.
 *   <li><b>A time of two seconds in which no call ended or started is not part of a window.</b> Otherwise
 *       the first window of a burst has the rate of the pause before it. Bursts of 8 to 100 calls of 50 to
 *       500 ms, one in 3, 10 or 60 s, deadline 3 s, two runs of each of 168 cases: refused .04 % &rarr; .17
 *       %, in the worst run 3.8 % &rarr; 19 %.
 *   <li><b>Slow start</b>, growth by 2 to 4 (while the latency would stay below .6 of the deadline even if it
 *       were all queueing) until the first sign of a queue. Without it a start or a change takes seconds:
 *       latency x 4, the first 4 s, .84 &rarr; .76; 40 workers of 20 ms from the start, .98 &rarr; .91;
 *       refused when calm 2.0 % &rarr; 3.2 %. Its cost: collapse is .944 without it.
 *   <li><b>A probe that finds a queue ends a slow start.</b> The calls that were sent at half of the
 *       limit are fast. A slow start would take them for a reason to grow by 2 or more. The time of a
 *       probe does not count as one in which the limit was not in use; that would begin a slow start,
 *       too. 4 workers of 200 ms, 4 times the capacity, worst of 100 runs: .91 &rarr; .81 without this
 *       rule. Collapse of 4 workers (16 cells, 24 seeds): .745 &rarr; .712. Its cost: the same 4 workers
 *       at a deadline of 2 s, .99 &rarr; .95. Rejected: a window that waits for two latencies after a
 *       probe. 40 workers of 200 ms, exponential times, deadline 2 s: .960 &rarr; .950 with it. Half of
 *       an odd limit rounded up: the 4 workers .967 &rarr; .997, but a worker of 20 ms that collapses
 *       loses .05.
 *   <li><b>A slow start tolerates the noise of small windows</b> (2 / &radic;samples, .4 at most). Without
 *       it: mean .981 &rarr; .974; refused when calm 2.0 % &rarr; 2.5 %. Without the bound of .4, one worker
 *       in 48 cells: .910 &rarr; .896; refused when calm 2.1 % &rarr; 3.3 %.
 *   <li><b>Mostly time-outs lower the limit</b>, at most once per deadline, and time-outs are no latency
 *       samples. A few time-outs change nothing: 5 % of naturally slow calls must not destroy a service.
 *       Without this rule: the first 2 s after a hang, .87 &rarr; .31. If the very first calls time out, the
 *       initial limit stays: they say that the JVM is cold, or that the backend hangs.
 *   <li><b>Half of the former limit as soon as answers are fast again</b>, after time-outs that no queue
 *       explains. Without it: the first 2 s after a hang .87 &rarr; .27, the 10 s after those .995 &rarr;
 *       .946.
 *   <li><b>Calls that wait, or are refused a permit, are evidence while the latency is long</b> (above a
 *       third of the deadline, or no answer has come yet). No window judges such a backend before its callers
 *       give up. Once calls have waited for a quarter of the deadline, the limit doubles if nothing is known;
 *       once they have waited for a third, it grows by 1.5 if no answer was slower than the base latency for
 *       one latency; not again before as many later calls are answered as it admitted, and not for a base
 *       latency that was shorter within a minute. 20 callers in a closed loop, 1.2 s of a deadline of 2 s, 20
 *       s: 312 answered and 4 refused &rarr; 105 and 230.
 *   <li><b>If calls hold all permits, and none of them ends for four base latencies, they are longer calls,
 *       and not more of them</b> ({@link io.weir.limit.Silence}). They take at least the time since a
 *       permit was free. So a call that has to wait raises the limit to what Little's law asks for at that
 *       latency, for at most a quarter of the deadline; not where calls had to wait for as long before, and
 *       not soon after a trial of more calls was in vain. A probe that was due is left out. If a call times
 *       out before one is answered, the limit returns. 200 at once of 300 ms beside 300/s of 10 ms,
 *       deadline 1 s: lost 0 % &rarr; 7.4 %. 60 of 100 calls/s take 1 s instead of 20 ms, deadline 2 s:
 *       answered 100 % &rarr; 81 %. Steps of the service time without a queue (193 cells): 15 miss what is
 *       wanted &rarr; 29. Its cost: when the backend hangs, up to three times as many calls are sent before
 *       the first time-out (300/s of 20 ms, deadline 0.8 s, hang of 15 s: 142 time-outs &rarr; 88).
 *   <li><b>After such growth the limit returns once calls are short again</b> and need no more permits than
 *       before: it was a pause. Without it a later overload meets the high limit. 40 workers of 20 ms, a
 *       pause of 0.4 s, a second later 4 times the capacity: the backend's latency in the first second of
 *       that is 54 ms &rarr; 166 ms.
 *   <li><b>The first wait is a quarter of the deadline</b>, and not a third: the calls that it admits need
 *       time for a late answer. If the first answers to those 20 callers are up to 0.4 s late, as on a cold
 *       JVM, 0 of 12 runs lose more than 10 calls &rarr; 12, without this rule and the next one.
 *   <li><b>A time-out is ignored if the backend had the call for less than 1.2 times the base latency</b> and
 *       answers others: the call had waited too long for its permit. If those answers are up to 0.5 s late, 1
 *       of 40 runs loses more than 10 calls in 7 s &rarr; 11.
 *   <li><b>After a probe, the growth for waiting calls needs two base latencies without a sign of a
 *       queue.</b> The probe itself shows none, at half of the limit. 20 workers of 1.2 s, deadline 2 s, 4
 *       times the capacity: .76 &rarr; .48.
 *   <li><b>No probe of a long latency that shows no queue</b>: it would take longer than the deadline, at
 *       half of the limit. The first mean of few calls then needs 2 samples, not 16, so that there is such a
 *       latency. Up to 1.5 times the base latency is no queue then, and not 1.2 times as otherwise: calls of
 *       a cold JVM are late. 20 workers of 1.2 s, deadline 2 s, 4 times the capacity: .82 &rarr; .76 with
 *       1.2.
 *   <li><b>A probe that finds less than three quarters of its lower limit in use does not lower the limit
 *       below its initial value</b>: few calls come, and the rate of answers is that of an earlier moment.
 *       Without this rule a cold JVM, whose first calls fill the limit at a low rate, leaves a calm backend
 *       at a limit of 3 to 7.
 *   <li><b>A 429 counts only while the answers to other calls are slow</b> (1.2 times the base latency). A
 *       backend says it to a caller that has used up its own quota, and other callers must not pay for that.
 *   <li><b>Sheds</b> (503 or 429 with {@code Retry-After}, gRPC's pushback, fast 503s, refused connections)
 *       lower the limit to the number of calls that the backend answered at once. Without this rule goodput
 *       is the same, but the backend's latency is 1.32 instead of 1.23 times that at the best fixed limit,
 *       and callers get its 503s.
 * </ul>
 *
 * <p>Each figure was measured with one rule removed, on the same seeds. Tried and left out, since the results
 * hold without them (the first three were still in force when the figures above were measured): the
 * comparison of calls sent at little and at much concurrency (mean .976 without); a cap that rises slowly
 * after sheds (.983 without); no decrease while the latency is that of half of the limit (no difference);
 * growth as an experiment whenever the limit is reached (it corrects a base latency that is too low, but four
 * gateways drive each other to five times the limit that they need); a gain of 1 and twice the slack (slow
 * backends get stuck); probes that start at once instead of on whole seconds (no gain).
 *
 * <p>{@code LimitGridTest} judges every change by {@code perf/results/limit-grid.md}, {@code LimitCasesTest}
 * by single cases, both with the real limit and the real queue in virtual time, on other seeds than those
 * that the rules were fitted to.
 *
 * <h2>The limit in force</h2>
 *
 * {@link io.weir.limit.LimitInForce} puts the lowest of three numbers in force: the limit (fixed, or found by
 * {@code max-concurrent-calls: auto}), an operator's, and the ramp of a backend that recovers. It feeds the
 * adaptive limit with one sample for each permit, and only while that limit's own number is the lowest:
 * otherwise the samples show the effect of another number. A call that started under another number ends
 * without evidence. While instances of the backend are out, the part of the others is the limit's own number:
 * what it has learnt is scaled when an instance leaves or returns, and it learns from the instances that are
 * in. While an instance ramps up, nothing is learnt. The queue of an adaptive limit evicts; the queue of a
 * fixed one refuses newcomers of the same class, so that the behaviour of fixed limits does not change.
 *
 * <p>While the backend states its capacity ({@link io.weir.capacity}), {@link io.weir.limit.StatedLimit} has
 * that number in place of the adaptive limit's, which learns nothing meanwhile, and goes on from there.
 *
 * <p>A call that hangs holds a permit until it is left behind. Samples do not show these permits, so {@link
 * io.weir.limit.LostPermits} are added to an adaptive limit: as many as such calls have held on average, and
 * room for clusters of them, but never more than there were such calls.
 *
 * <p>Where the bulkhead is not enforced, the limit learns from the calls in flight, and a second bulkhead
 * with the same numbers counts the calls to refuse. Its probes are discarded: calls above the lower limit are
 * not held back, so nothing is measured at it. So the dry run of a backend that became slower finds a lower
 * limit than the limit in force would.
 *
 * <h2>Routes that hang</h2>
 *
 * {@link io.weir.limit.OverdueCalls} keeps one route of a backend from taking the permits of the others. A
 * route hangs once several of its calls (the breaker's {@code stall-calls}, or half of the limit if that is
 * less; at least two), all sent after its last answer, have waited for the stall duration, while the backend
 * has answered other routes. From then until the route's next answer, its calls hold at most half of the
 * limit; a call beyond that is refused at once. The time-outs of such a route are no evidence for the
 * adaptive limit. Decisions:
 *
 * <ul>
 *   <li>The stall duration, and not three times the route's usual time: a route whose latency rises to four
 *       times the usual one must not be refused meanwhile.
 *   <li>No permit is taken from a call: the limit stays exact. So the other routes may wait until the first
 *       calls of the route that hangs reach their deadline.
 *   <li>A route that is answered counts nothing: its calls cost one volatile read and one write. The places
 *       under the cap are counted only while the route hangs.
 * </ul>
 *
 * <h2>Figures for operators</h2>
 *
 * {@link io.weir.limit.Limit.Beliefs} hold all figures that metrics, endpoint, dashboard and log show. A
 * change of the latency or the rate is published only from a sixteenth on, since a publication allocates.
 * {@link io.weir.limit.LastChange} keeps the reason for the number, which a probe every ten seconds would
 * otherwise hide. {@link io.weir.limit.LimitInForce} knows where the number in force comes from.
 *
 * <h2>Estimate of the uncongested time, and the suggested limit</h2>
 *
 * {@link io.weir.limit.LittlesLaw} measures how long a call takes while its backend is not congested. A
 * refusal derives its {@code Retry-After} from the median of that time, and the metrics show it with the
 * other figures of Little's law (arrival rate, concurrent calls, suggested limit). It is in this package, and
 * not with the metrics, because a control input belongs to the capability that uses it. Definitions, sources
 * and limitations are in the class's documentation. {@link io.weir.limit.LogBuckets} is its histogram:
 * bounded relative error, fixed memory, and one counter increment per call.
 *
 * <p>A backend has one suggested limit. With an adaptive limit it is that limit, and the uncongested time
 * shown is its base latency. A fixed limit is only observed, so its suggestion is weaker: the limit at which
 * {@code Knee} would rest (1.15 n + &radic;limit = limit), with n = present calls per second &times;
 * uncongested time. There is no suggestion while the calls are too few. Rejected:
 *
 * <ul>
 *   <li>An adaptive limit that runs without effect beside a fixed one: an adaptive limit finds the knee by
 *       changing the load. Its growth would bring no answers, its probes would measure nothing, and calls
 *       beyond its own number would count as evidence for it.
 *   <li>A factor of its own, as before (1.5 &lambda;W): a second formula, and 1 permit for one call a second.
 * </ul>
 *
 * <p>{@link io.weir.limit.UsualTime} is the estimate for one route: the median of its recent calls, congested
 * or not. Admission uses it: a waiting call whose remaining time is shorter cannot be served in time, so it
 * is refused instead of dispatched. The estimate is the route's own, since a fast route must not be judged by
 * the slow calls of others; and it excludes the time for which the gateway waited for callers.
 *
 * <h2>Concurrency</h2>
 *
 * All decisions about a permit (granted, queued, full, handed on, resized) are linearizable: each is one
 * atomic access to the word. A permit that is promised to a waiter counts as in use. While no call waits, no
 * thread waits for another one: taking a permit is one compare-and-set, and so is its release. While calls
 * wait, a thread may wait for the lock of the queue; no callback runs under it. Random operations against
 * sequential models, Lincheck's model checker, and jcstress check this ({@code gateway/concurrency}).
 *
 * <p>In the same way, one thread at a time processes the samples of the adaptive limit: a sample without
 * contention costs one compare-and-set and one decrement, and the start of a call one volatile read.
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
 *   <li>A lock-free queue of waiters: it needed no serving thread for one first-in-first-out list, but
 *       leaving took time linear in the list's length. No lock-free structure removes from either end, from
 *       the middle, by turns, and from the longest list.
 *   <li>A queue without a lock, which one serving thread changes, with two Treiber stacks for the waiters
 *       that arrive and leave: no thread waited for another, but the proof took a page, and a waiter that had
 *       left counted until it was served. At 1.5 times the capacity, with two threads on a busy machine
 *       (medians of 50 alternating pairs of runs), it refused 70.0 % of the calls and the lock 72.1 % with
 *       {@code EVICT_OLDEST}, 72.2 % and 65.9 % with {@code REFUSE_NEWCOMER}; the 99th percentile of the wait
 *       was 5.2 and 5.3 ms, 15.5 and 9.7 ms. Without contention, handing a permit on took 58 and 60 ns,
 *       leaving 64 and 36 ns, the refusal by a full queue 9 and 14 ns, a free permit 8 and 7 ns.
 *   <li>A queue for each tenant ever seen, with one shared queue for the least recently seen: unnecessary,
 *       since queues that exist only while calls wait need no memory of tenants. The tenants beyond the 1000
 *       that wait share one queue.
 *   <li>Weights for the classes instead of a strict order: they need numbers that nobody has, and critical
 *       calls would be refused in an overload of normal ones.
 *   <li>AIMD, Vegas, Gradient2, Envoy's gradient, BBR, hill climbing: on the same backends their means are
 *       .45 to .89, and their worst results .01 to .38.
 * </ul>
 *
 * <h2>Limitations</h2>
 *
 * <ul>
 *   <li>The bulkhead counts permits, not holders: the exchange guarantees exactly-once release. A surplus
 *       release is noticed only when no permit is in use.
 *   <li>The bulkhead has no clock: the exchange limits the wait, and makes a waiter leave or expire.
 *   <li>While the thread that serves the queue is suspended, waiters get no permit. While a thread is
 *       suspended in the lock of the queue, calls that have to wait are suspended, too.
 *   <li>A waiter's callback runs on the thread that serves the queue, and switches to its own event loop
 *       itself.
 *   <li>While the adaptive limit is not the lowest number, it learns nothing, and it continues with what it
 *       knew before.
 *   <li>Calls in the backend have no class: a critical call waits for the next permit, however many sheddable
 *       calls are in the backend.
 *   <li>Of the events of Resilience4j's bulkheads, only those of rejected calls are published.
 *   <li>One base latency stands for all calls of a backend. If a probe, or 96 samples, have confirmed it, and
 *       the calls then become longer because their mix changes, by less than 8 times or all but a few of
 *       them, a probe finds that out at half of the limit, and calls may be refused meanwhile. A burst of
 *       longer calls is refused in part where it is many times what the usual rate of answers asks for: of
 *       200 at once of 300 ms beside 100/s of 10 ms, deadline 1 s, four of ten are answered.
 *   <li>A base latency of more than a sixteenth of the deadline is too long for growth in a silence. Where
 *       20/s of 50 to 100 ms become 400 to 600 ms, 98.8 % are answered in the 25 s after it (180 runs), but
 *       in one of six runs less than 97 %, or less than 99.5 % from 5 s on.
 *   <li>The adaptive limit does badly with one to four slow workers and with backends that collapse: see
 *       {@code limit-grid.md}. Such a backend can state its capacity. Gateways in front of one backend
 *       converge slowly: after 30 s one can still have three times another's share.
 * </ul>
 */
@NullMarked
package io.weir.limit;

import org.jspecify.annotations.NullMarked;
