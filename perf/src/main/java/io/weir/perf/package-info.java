/**
 * What the gateway is measured beside, and what it is measured with.
 *
 * <p>A speed is a ratio to something run side by side on the same machine in the same run: {@link io.weir.perf.BareProxy}, the least that a proxy
 * on Reactor Netty can be, and {@link io.weir.perf.PlainGateway}, Spring Cloud Gateway with its own CircuitBreaker filter, as its users have it.
 */
@NullMarked
package io.weir.perf;

import org.jspecify.annotations.NullMarked;
