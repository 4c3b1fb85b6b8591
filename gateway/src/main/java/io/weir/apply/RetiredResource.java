package io.weir.apply;

/**
 * A resource to be closed.
 *
 * @param key the object through which requests reach the resource: a pool, or a route's observer
 * @param close closes the resource; runs once
 */
record RetiredResource(Object key, Runnable close) {}
