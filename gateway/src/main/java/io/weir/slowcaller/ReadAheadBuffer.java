package io.weir.slowcaller;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * The parts of a request's body that are read but not passed on, counted in the {@link ReadAheadBudget}.
 *
 * <p>Small parts are copied into one buffer, since the buffer of a single byte takes many times the memory of
 * the byte. The first part is kept as it is, so that a body that arrives at once is never copied.
 *
 * <p>Confined to the exchange's event loop, except {@link #bytes}: other event loops read it to find the
 * slowest upload.
 */
public final class ReadAheadBuffer {

    /** Parts below this size are copied into one buffer. */
    private static final int SMALL_BYTES = 1024;

    private static final int FIRST_COPY_BYTES = 256;
    private static final int MAX_COPY_BYTES = 8 * SMALL_BYTES;

    private final ReadAheadBudget budget;
    private final ArrayDeque<ByteBuf> parts = new ArrayDeque<>(1);
    /** The last part if it is such a buffer, which has room for further small parts. */
    private @Nullable ByteBuf copy;

    private volatile int bytes;

    /** An empty buffer. */
    public ReadAheadBuffer(ReadAheadBudget budget) {
        this.budget = budget;
    }

    /** Whether it has no part. */
    public boolean isEmpty() {
        return parts.isEmpty();
    }

    /** The bytes of all parts. From any thread. */
    public int bytes() {
        return bytes;
    }

    /**
     * Adds a part that is lent for the time of the call.
     *
     * @return whether all exchanges together hold no more than they may
     */
    public boolean add(ByteBuf part, ByteBufAllocator allocator) {
        int more = part.readableBytes();
        ByteBuf room = copy;
        if (room != null && more < SMALL_BYTES && room.maxWritableBytes() >= more) {
            room.writeBytes(part);
        } else if (parts.isEmpty() || more >= SMALL_BYTES) {
            copy = null;
            parts.add(part.retain());
        } else {
            ByteBuf fresh = allocator.buffer(FIRST_COPY_BYTES, MAX_COPY_BYTES);
            copy = fresh.writeBytes(part);
            parts.add(fresh);
        }
        int held = bytes + more;
        bytes = held;
        return budget.hold(more);
    }

    /** Takes the first part; the callee owns it. */
    public ByteBuf take() {
        ByteBuf first = parts.remove();
        if (parts.isEmpty()) {
            // A copy is always the last part.
            copy = null;
        }
        int fewer = first.readableBytes();
        int held = bytes - fewer;
        bytes = held;
        budget.giveBack(fewer);
        return first;
    }

    /** Releases all parts. */
    public void clear() {
        while (!parts.isEmpty()) {
            take().release();
        }
    }
}
