package io.weir.slowcaller;

import io.weir.limit.QueueingBulkhead;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A call that its caller holds up, from the first such moment until its end: the bytes that wait for the
 * caller, and the rate at which the caller moves bytes. It is among {@link SlowCallers} while the caller
 * holds up the call.
 */
// Concurrency: the event loop of the exchange writes; those that choose callers read the volatile fields.
public final class SlowCaller extends EndableCall {

    /** The shortest time over which a rate is measured. */
    public static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /**
     * The longest such time: a socket reports progress in steps of a third of its buffer, so that a caller
     * that reads all the time seems to read nothing for a while.
     */
    public static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(2);

    /** The rate of a caller that does not hold up its call, or not for long enough. */
    private static final double UNKNOWN = Double.POSITIVE_INFINITY;

    private final Executor loop;
    private final Consumer<String> end;
    private final SlowCallers all;
    private long movedBytes;
    private long lookedAt;
    private boolean wasBehind;
    private volatile double bytesPerSecond = UNKNOWN;
    private volatile long unreadBytes;
    private volatile @Nullable QueueingBulkhead streams;

    /**
     * A call that its caller has not held up so far.
     *
     * @param loop the event loop of the exchange
     * @param end ends the exchange; receives the cause
     */
    public SlowCaller(Executor loop, Consumer<String> end, SlowCallers all) {
        this.loop = loop;
        this.end = end;
        this.all = all;
    }

    /** The call holds a permit of these streams from now on; null: of none any more. */
    public void movedTo(@Nullable QueueingBulkhead compartment) {
        streams = compartment;
    }

    /**
     * Records the caller's progress.
     *
     * @param isBehind whether the caller holds up the call
     * @param unread bytes of the answer that wait for the caller
     * @param moved all bytes that the caller has sent and read so far
     */
    public void look(boolean isBehind, long unread, long moved, long now) {
        if (isBehind && wasBehind) {
            measure(moved, now);
        } else {
            bytesPerSecond = UNKNOWN;
            movedBytes = moved;
            lookedAt = now;
        }
        count(unread);
        if (isBehind != wasBehind) {
            wasBehind = isBehind;
            if (isBehind) {
                all.add(this);
            } else {
                all.remove(this);
            }
        }
        if (isBehind) {
            // Also without new bytes: the rate of a reader may have become known only now.
            all.freeMemory(now);
        }
    }

    private void measure(long moved, long now) {
        long passed = now - lookedAt;
        if (passed < (moved > movedBytes ? LOOK_NANOS : LONGEST_LOOK_NANOS)) {
            return;
        }
        // The pending bytes include those of the protocol, so the difference may be negative.
        double latest = Math.max(0, moved - movedBytes) * 1e9 / passed;
        bytesPerSecond = bytesPerSecond == UNKNOWN ? latest : (bytesPerSecond + latest) / 2;
        movedBytes = moved;
        lookedAt = now;
    }

    /** Whether the caller holds up the call, as far as it was last looked at. */
    public boolean isBehind() {
        return wasBehind;
    }

    private void count(long unread) {
        long difference = unread - unreadBytes;
        if (difference != 0) {
            unreadBytes = unread;
            all.count(difference);
        }
    }

    /** Forgets the call, which has ended. */
    public void end() {
        count(0);
        all.remove(this);
    }

    // ---------------------------------------------------------------- from any thread

    /** Bytes of the answer that wait for the caller. */
    long unreadBytes() {
        return unreadBytes;
    }

    @Override
    public double bytesPerSecond(long now) {
        return bytesPerSecond;
    }

    /** Whether the call holds a permit of these streams, because its caller has held it up. */
    boolean holds(QueueingBulkhead compartment) {
        return streams == compartment;
    }

    /**
     * Ends the call, since others need what it holds. False: another thread has done that, or the event loop
     * has stopped.
     *
     * @param needed the streams of which others need a permit; null: they need memory
     */
    boolean choose(String why, @Nullable QueueingBulkhead needed) {
        return choose(loop, () -> {
            // The call may have given back meanwhile what others need.
            if (needed == null ? unreadBytes > 0 : holds(needed)) {
                end.accept(why);
            }
            // The exchange may continue, with a fallback for example.
            continues();
        });
    }
}
