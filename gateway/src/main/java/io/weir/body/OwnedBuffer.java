package io.weir.body;

import io.netty.buffer.ByteBuf;

/**
 * An element of a body whose buffer belongs to its receiver. Reactor Netty lends its buffers for the time of
 * {@code onNext}; Spring transfers their ownership.
 *
 * @param buffer the buffer
 */
public record OwnedBuffer(ByteBuf buffer) {}
