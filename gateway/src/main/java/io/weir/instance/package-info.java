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
 * and waits in the queue. Calls that hung in an instance when it opened have left the count; after its
 * return, they exceed the cap until they end.
 *
 * <p>A call that fails on one instance, and is sent again, goes to an instance that has not failed it yet
 * ({@link io.weir.instance.TriedInstances}). A call that was not sent is sent again without a {@code retry},
 * and so is one without a body and with an idempotent method whose connection was lost before the answer's
 * head. The retry budget bounds both.
 *
 * <p>The latency of an instance rises at once and decays in ten seconds ({@link io.weir.instance.PeakEwma});
 * a failure never lowers it. A silence that is longer than the usual latency counts as latency. So an
 * instance that hangs gets only a few calls even before its health opens.
 *
 * <p>Rejected alternatives: the least loaded of all instances sends the calls of all gateways to the same
 * one. Round-robin sends a slow instance as many calls as a fast one. Envoy's panic mode, which sends calls
 * to ejected instances when few are left, makes callers wait for instances that are known to be down.
 *
 * <p>A WebSocket and a stream count as load until they end, also while they are idle.
 *
 * <p>Limitations: a name with several addresses is one instance. An adaptive limit does not learn while an
 * instance is out, nor while the cap of the instances is below it. Slow start follows time, not the number of
 * calls that an instance has answered. A key of {@code hash} has one instance, so its calls are not repeated
 * on the same one but on the next of the ring. The share of an instance in the keys differs by about 3 % from
 * its weight.
 *
 * <p><b>Pools.</b> Each instance has a pool of its own ({@link io.weir.instance.Pool}), so that no backend
 * uses up the connections of another. The pool has a connection for every permit and every probe. It has as
 * many again for calls that hang when the breaker opens: these give their permits back and keep their
 * connections. The headroom is for connections that are being closed. Since permits are taken first, requests
 * never wait in the pool's pending queue (Reactor Netty's limits on it are best-effort under load,
 * reactor-netty issue 2261). A request that waits there is a defect, and a meter shows it.
 *
 * <p>Connections are reused last in, first out. A connection that is idle for longer than {@code max-idle} is
 * closed; that is less than the usual keep-alive time of backends, so that a request seldom meets a
 * connection that the backend has just closed. Reactor Netty's own retry is disabled: only the visible {@code
 * retry} decides what is sent twice.
 *
 * <p>The connect time-out applies to one address. Reactor Netty tries the addresses of a name one after the
 * other, so that an address that never answers costs one time-out and not the call. The engine bounds DNS,
 * all addresses and TLS together. A call that gives up does not stop Reactor Netty: the connection is
 * completed for the pool, and counts in the pool until then.
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
 *       answers.
 *   <li>It rewrites the request of a WebSocket handshake. {@link io.weir.instance.HandshakeHead} sends the
 *       request that the gateway has created, and {@link io.weir.instance.HandshakeAnswer} passes a refusal
 *       on.
 *   <li>It sends a body at once. {@link io.weir.instance.ContinueSignal} waits for {@code 100 Continue} if
 *       the caller does.
 *   <li>It cannot send trailers. {@link io.weir.instance.TrailingFields} does.
 * </ul>
 *
 * <p>{@link io.weir.instance.InformationalFilter} also marks gRPC answers that end with their head, so that
 * they reach the caller as one frame.
 *
 * <p>Limitations: of informational answers, only 100 is passed on to callers.
 */
@NullMarked
package io.weir.instance;

import org.jspecify.annotations.NullMarked;
