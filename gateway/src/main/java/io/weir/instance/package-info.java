/**
 * The instances of a backend: the choice among them, their connections, and the corrections to Reactor
 * Netty's client that a proxy needs.
 *
 * <p><b>Instances.</b> A backend has one or more instances ({@link io.weir.instance.Instance}): an address
 * with its own pool and its own {@link io.weir.health.Health}. The limit, the queue and the retry budget
 * belong to the backend. With one instance, its health is the backend's, and nothing is chosen. With several,
 * the engine chooses one when a call has its permit, and not when the call enters the queue: the instances
 * may change while it waits. {@link io.weir.instance.Instances} holds the choice among those that are in, and
 * replaces it when a health changes. {@link io.weir.instance.LoadBalancingPolicy} names the algorithms:
 * {@link io.weir.instance.Choice} (least latency), {@link io.weir.instance.RoundRobin} and
 * {@link io.weir.instance.HashRing}. Where one of the last two finds no instance, the first one decides. The
 * names of the properties are those of Envoy and HAProxy where both agree ({@code round-robin}, {@code hash},
 * {@code slow-start}).
 *
 * <p><b>Slow start.</b> An instance that returns, or that a reload adds, starts with a tenth of its weight
 * ({@link io.weir.instance.SlowStart}). At the start of the gateway all instances are new alike, and nothing
 * is to be gained. A slow start never overloads the other instances: where they have their shares of the
 * limit, it is ignored.
 *
 * <p><b>Cap of each instance.</b> The limit in force is at most the cap times the instances that are in, so a
 * call with a permit finds an instance with room. The entry into an instance is a CAS below the cap. If an
 * instance opens between a call's permit and its entry, the call may find no room: it gives its permit back
 * and waits in the queue. Calls that hung in an instance when it opened are not counted any more; after its
 * return, the instance exceeds the cap by these calls until they end.
 *
 * <p>A call that fails on one instance, and is sent again, goes to an instance that has not failed it yet
 * ({@link io.weir.instance.TriedInstances}). A call that was not sent is sent again without a {@code retry},
 * and so is one without a body and with an idempotent method whose connection was lost before the answer's
 * head. A call of that kind also moves if its instance opens while it waits. The retry budget bounds all of
 * them. If it is empty when an instance opens, the calls that wait there try again until their deadlines.
 * Rejected alternative: to move them at once without the budget. An instance that is only slow would lose the
 * answers that it is about to give, and the others would get all calls in a burst.
 *
 * <p><b>Latency.</b> The latency of an instance rises at once, falls with each faster answer, and
 * decays in ten seconds without answers ({@link io.weir.instance.PeakEwma}); a failure never lowers it. A
 * pause of the gateway itself is no latency: after one, an instance that is always slow would look like the
 * others. A silence that is longer than the usual latency counts as latency. So an instance that hangs gets
 * only a few calls even before its health opens.
 *
 * <p><b>No starvation.</b> One slow answer, such as the first one of a cold JVM, must not keep calls away for
 * long. Of the calls that an instance has lost by its latency, the eighth one still goes to it ({@link
 * io.weir.instance.Exploration}), and earlier where three seconds have passed since its answer. If it is
 * still slow, the next one follows after twice as many calls, or twice the time, up to 256 calls. So a slow
 * start is forgiven within seconds at any traffic, and an instance that is always slow gets less than a
 * hundredth of the calls, or a twentieth where it gets less than four a second. An instance that returns has
 * no latency at first.
 *
 * <p><b>Cool-down.</b> An instance that has failed twice in a row gets no calls until the others have
 * answered eight; each further failure doubles this number, up to 64 answers ({@link
 * io.weir.health.GroupRole#coolDownFailures}). An error is often faster than an answer, so the latency would
 * prefer the failing instance; and the ejection needs to know that the others answer. A good answer ends the
 * cool-down, and so do ten seconds. It has no effect where all instances cool down or are late, with another
 * policy than {@code least-latency}, and where an operator forces the breaker. Rejected alternative: a cost
 * that doubles with each failure. A healthy instance may be a hundred times slower than an error.
 *
 * <p><b>Pushback.</b> An instance that has asked to be left alone ({@link io.weir.health.Pushback}) is the
 * last choice with every policy, and never the other instance of a retry. Calls that exceed the shares of the
 * others go to it all the same: their answers show whether it takes calls again.
 *
 * <p><b>Backups.</b> The instances form two tiers ({@link io.weir.instance.InstanceTier}): the primaries, and
 * the backups. While a primary is in, the choice is among the primaries. A backup gets a call if each primary
 * that is in has failed this call, or has no room in its ramp. So a return needs no rule of its own: the
 * ramps move the calls, and no call is refused. A slow primary, or one that has as many calls as its cap, is
 * no reason for a backup. {@link io.weir.health.HealthGroup} has the rules by which the primaries open
 * together. Each tier has a hash ring of its own, so a backup moves no key while a primary is in. Rejected
 * alternative: more than two tiers. Zones need tiers that overflow in proportion, which is another algorithm.
 *
 * <p>An operator can drain every instance but the last one that takes calls
 * ({@link io.weir.instance.Instances#mayDrain}). Unlike those of an ejected instance, its calls are not moved
 * to other instances, since it still answers.
 *
 * <p>Rejected alternatives: the least loaded of all instances sends the calls of all gateways to the same
 * one. Round-robin sends a slow instance as many calls as a fast one. Envoy's panic mode, which sends calls
 * to ejected instances when few are left, makes callers wait for instances that are known to be down.
 *
 * <p>A WebSocket and a stream count as load until they end, also while they are idle.
 *
 * <p><b>Where instances come from.</b> {@link io.weir.instance.AddressSource} yields the addresses: a list,
 * or {@link io.weir.instance.PolledAddresses}, which asks DNS ({@link io.weir.instance.DnsLookup}) or a
 * discovery again and again. A look-up that fails or finds nothing keeps the last known addresses. At a start
 * or a reload, the look-ups of all new backends begin at the same time, and the wait for their first answers
 * is bounded for all of them together. Before its first answer, a backend has one instance without an
 * address, whose calls fail at once and are no evidence. A change replaces the
 * {@link io.weir.instance.Instances} in {@link io.weir.instance.InstancesInForce}, in place: a call that
 * waits in the queue goes to an instance that is there when its permit arrives. Package {@code io.weir.apply}
 * creates the instances, keeps those that stay, and closes the pools of those that left.
 *
 * <p>The gateway asks DNS at fixed intervals, without a cache, and not when the time to live ends: with a
 * time to live of 30 s, callers would meet the addresses of stopped instances for as long. The pool of a
 * resolved address connects to a socket address with the name, so that SNI and the check of the certificate
 * use the name. Of both families of addresses, one is used: an instance with an address of each would count
 * twice.
 *
 * <p>Rejected alternatives: Reactor Netty's resolution for each connection follows DNS too, but knows no
 * instances; it tries the first address first, and keeps idle connections to addresses that left. A time for
 * which an address stays although DNS does not return it any more (HAProxy's {@code hold obsolete}) sends
 * calls to instances that have stopped.
 *
 * <p>Limitations: a name in the list of instances is one instance. A DNS server that returns a part of its
 * addresses at a time replaces the instances with each answer. SRV records are not read. An adaptive limit
 * does not learn while the cap of the instances is below it. Slow start follows time, not the number of calls
 * that an instance has answered. A call with a hash key that fails is repeated on the next instance of the
 * ring, which may not know the key's data. An instance's share of the keys differs by about 3 % from its
 * share of the weights. A backup is cold when it gets its first calls, and a primary that a reload adds has
 * no ramp. A primary that suddenly needs longer than the stall time opens once, until an answer shows that it
 * does not hang. Where two primaries begin to hang, the first one opens alone, and its calls use the retry
 * budget up on the other one. A primary that answers with failures opens by its window only, so a backup does
 * not help where there are fewer than twenty calls a minute.
 *
 * <p><b>Pools.</b> Each instance has a pool of its own ({@link io.weir.instance.Pool}), so that no backend
 * uses up the connections of another. The pool has a connection for every permit and every probe. It has as
 * many again for calls that hang when the breaker opens: these give their permits back and keep their
 * connections. The headroom is for connections that are being closed. Since permits are taken first, requests
 * never wait in the pool's pending queue (Reactor Netty's limits on it are best-effort under load,
 * reactor-netty issue 2261). A request that waits there is a defect, and a meter shows it. All pools share
 * the files that the process may open: {@link io.weir.instance.ConnectionFiles} keeps a part for each.
 *
 * <p>A backend ends an HTTP/2 connection with GOAWAY. Reactor Netty opens no new streams on it. A stream that
 * was on its way, and is above the last one that the GOAWAY names, is provably not processed:
 * {@link io.weir.instance.RefusedStream} notices it, and the engine sends the call again.
 *
 * <p>Connections are reused last in, first out. A connection that is idle for longer than {@code max-idle} is
 * closed; that is less than the usual keep-alive time of backends, so that a request seldom meets a
 * connection that the backend has just closed. Reactor Netty's own retry is disabled: only the visible {@code
 * retry} decides what is sent twice.
 *
 * <p>The connect time-out applies to one address. Reactor Netty tries the addresses of a listed name one
 * after the other, so that an address that never answers costs one time-out and not the call. The engine
 * bounds DNS, all addresses and TLS together. A call that gives up does not stop Reactor Netty: the
 * connection is completed for the pool, and counts in the pool until then.
 *
 * <p>A connection whose backend has vanished is found by {@link io.weir.instance.SilentConnection} over
 * HTTP/2, and over HTTP/1.1 by the call's deadline, after which the connection is closed. Rejected
 * alternative: {@code TCP_USER_TIMEOUT}. Linux (6.18) also ends a connection whose peer answers all probes
 * and only keeps its window closed, so a backend that reads a large body slowly would lose it.
 *
 * <p>{@link io.weir.instance.Failures} tells the backend's failures from the gateway's own: a pool that gives
 * no connection, and a machine without files, ports or memory, are no evidence against the backend.
 *
 * <p>The window of an HTTP/2 connection is as large as the windows of all its calls together. With the usual
 * 64 KiB, one answer that its caller does not read would stop all other answers of the connection.
 *
 * <p>These handlers correct Reactor Netty's client:
 *
 * <ul>
 *   <li>The only informational answer that Reactor Netty supports is 100. It mistakes a 103 for the final
 *       answer, and discards the final one. {@link io.weir.instance.InformationalFilter} drops informational
 *       answers, and reports the links of a 103.
 *   <li>It rewrites the request of a WebSocket handshake. {@link io.weir.instance.HandshakeHead} sends the
 *       request that the gateway has created, and {@link io.weir.instance.HandshakeAnswer} passes a refusal
 *       on.
 *   <li>It sends a body at once. {@link io.weir.instance.ContinueSignal} waits for {@code 100 Continue} if
 *       the caller does.
 *   <li>It cannot send trailers. {@link io.weir.instance.TrailingFields} does.
 *   <li>It gives an exchange up when the request's body cannot be written, although an answer may have
 *       arrived, such as a 413. {@link io.weir.instance.AnswerDecoder} and, over HTTP/2,
 *       {@link io.weir.instance.UnsentBody} drop the rest of the body.
 *   <li>Over HTTP/2, its default is 8 KiB for the head and for the trailers of an answer, and a head above
 *       10 KiB ends the connection with all its calls. {@link io.weir.instance.FieldsLimit} allows as much as
 *       over HTTP/1.1, and ends only the stream of a larger one. A head above 1.25 MiB ends the connection:
 *       it must be decoded as a whole, or the heads that follow cannot be.
 * </ul>
 *
 * <p>{@link io.weir.instance.InformationalFilter} also marks gRPC answers that end with their head, so that
 * they reach the caller as one frame.
 *
 * <p>Limitations: of informational answers, only 100 and 103 are passed on to callers. A 103 goes to HTTP/2
 * callers only. Browsers ignore it over HTTP/1.1, and proxies and clients of HTTP/1.1 exist that take it for
 * the final answer; none of them says whether it does.
 */
@NullMarked
package io.weir.instance;

import org.jspecify.annotations.NullMarked;
