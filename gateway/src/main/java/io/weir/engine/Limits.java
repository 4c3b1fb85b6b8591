package io.weir.engine;

/**
 * The limits on the size and slowness of callers.
 *
 * @param maxBodyBytes largest body of a request
 * @param bodyIdleNanos longest pause in a request's body
 * @param readIdleNanos longest time for which a caller may read nothing of its answer
 * @param maxFrameBytes largest frame of a WebSocket, in either direction
 */
public record Limits(long maxBodyBytes, long bodyIdleNanos, long readIdleNanos, int maxFrameBytes) {}
