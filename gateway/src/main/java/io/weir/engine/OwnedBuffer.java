package io.weir.engine;

import io.netty.buffer.ByteBuf;

/**
 * An item of a body whose buffer belongs to whoever receives it. Reactor Netty lends its buffers for the time of {@code onNext}; Spring hands
 * them over.
 *
 * @param buffer the buffer
 */
public record OwnedBuffer(ByteBuf buffer) {}
