/**
 * A backend's own connections, and the corrections to Reactor Netty's client that a proxy needs.
 *
 * <p>Each backend has a pool of its own ({@link io.weir.instance.Pool}), so that no backend uses up the
 * connections of another. The pool has a connection for every permit and every probe. It has as many again
 * for calls that hang when the breaker opens: these give their permits back and keep their connections. The
 * headroom is for connections that are being closed. Since permits are taken first, requests never wait in
 * the pool's pending queue (Reactor Netty's limits on it are best-effort under load, reactor-netty issue
 * 2261). A request that waits there is a defect, and a meter shows it.
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
