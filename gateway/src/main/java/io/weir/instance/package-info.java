/**
 * A backend's own connections.
 *
 * <p>Each backend has a pool of its own, so that connections that one backend holds are never missed by another. It has a connection for
 * every permit and some headroom for connections on their way out; with permits taken first, its pending queue is never where
 * requests wait (Reactor Netty's limits are best-effort under load, reactor-netty issue 2261), and anything waiting there is a defect
 * that a meter shows.
 *
 * <p>Connections are used last in, first out, and closed when idle for longer than {@code max-idle}, below what backends usually
 * keep alive, so that a request seldom meets a connection that the backend has just closed. Reactor Netty's hidden retry is
 * switched off: what is sent twice is decided by {@code retry}, in sight.
 *
 * <p>Of informational answers Reactor Netty knows 100 only: it takes a 103 for the answer, and discards the final one. {@link
 * io.weir.instance.InformationalFilter} drops what it does not know.
 * Of a WebSocket's handshake it makes a request of its own: {@link io.weir.instance.HandshakeHead} sends the one that the gateway has made, and {@link
 * io.weir.instance.HandshakeAnswer} passes on what refuses it.
 *
 * <p>Limitations: informational answers other than 100 are not passed on to callers.
 */
@NullMarked
package io.weir.instance;

import org.jspecify.annotations.NullMarked;
