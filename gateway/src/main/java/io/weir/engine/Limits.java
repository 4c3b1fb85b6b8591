package io.weir.engine;

/**
 * What callers may take, of time and space.
 *
 * @param maxBodyBytes size of a request's body
 * @param bodyIdleNanos time that a request's body may stand still
 * @param readIdleNanos time that a caller may take nothing of its answer
 */
public record Limits(long maxBodyBytes, long bodyIdleNanos, long readIdleNanos) {}
