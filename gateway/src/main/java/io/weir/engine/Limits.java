package io.weir.engine;

/**
 * The limits on the size and slowness of callers.
 *
 * @param maxBodyBytes largest body of a request
 * @param bodyIdleNanos longest pause in a request's body
 * @param readIdleNanos longest time for which a caller may read nothing of its answer
 * @param maxFrameBytes largest frame of a WebSocket, in either direction
 * @param readAheadBytes bytes of a request's body that are read before its exchange asks for a permit; 0:
 *     none
 * @param readAheadTotalBytes the same for all exchanges together
 * @param minBodyBytesPerSecond slowest rate at which a caller may send its body or read its answer; 0: any
 */
public record Limits(
        long maxBodyBytes,
        long bodyIdleNanos,
        long readIdleNanos,
        int maxFrameBytes,
        int readAheadBytes,
        long readAheadTotalBytes,
        long minBodyBytesPerSecond) {}
