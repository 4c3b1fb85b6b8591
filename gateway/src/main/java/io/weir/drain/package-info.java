/**
 * How the gateway stops without losing a request: first it says so, then it refuses.
 *
 * <p>For {@code drain.delay} readiness is down while everything is still served, with {@code Connection: close} or GOAWAY, so that load balancers
 * notice before anything is refused. Then new work is refused with {@code shutting-down}, what is in flight has {@code drain.timeout} to end, and
 * streams are closed at once rather than holding the exit up. What has not ended by then is ended, with the same word: whoever has no answer yet gets
 * that one, whoever has half of one is reset.
 */
@NullMarked
package io.weir.drain;

import org.jspecify.annotations.NullMarked;
