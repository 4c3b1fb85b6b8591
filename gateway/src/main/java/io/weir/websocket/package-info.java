/**
 * The two directions of an open WebSocket.
 *
 * <p>{@link io.weir.websocket.TunnelSide} closes one connection in an orderly way. {@link
 * io.weir.websocket.WebSocketFrames} passes the frames of one direction on. {@link
 * io.weir.websocket.TunnelGate} bounds what waits for a peer that does not read. The package knows
 * connections and frames, and no exchange: permits, deadlines and idle time-outs belong to the engine.
 */
@NullMarked
package io.weir.websocket;

import org.jspecify.annotations.NullMarked;
