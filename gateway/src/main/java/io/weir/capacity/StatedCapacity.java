package io.weir.capacity;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import io.weir.capacity.CapacitySignal.Ignored;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The number of calls that one instance takes at once, as it has stated it. A reload keeps it with the
 * instance.
 */
// Concurrency: `last` is the only atomic. Any thread reads an answer. An answer that repeats the number
// writes at most once in REPEAT_NANOS.
public final class StatedCapacity {

    /** The instance states nothing. */
    public static final int NONE = -1;

    /** The time for which a statement counts. */
    static final long BELIEVED_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final long REPEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int JUMP_FACTOR = 100;
    private static final int MOST = 1_000_000;
    private static final int DECIMAL = 10;

    private final CapacitySignal signal;
    private final AtomicReference<@Nullable Statement> last = new AtomicReference<>();

    /**
     * The last statement that was a number.
     *
     * @param at the moment at which it was last repeated
     * @param since the moment at which the number was first stated
     */
    private record Statement(int calls, long at, long since) {

        boolean isRecent(long now) {
            return now - at < BELIEVED_NANOS;
        }

        /** Whether the instance has stated 0 for too long. */
        boolean isStuckAtZero(long now) {
            return calls == 0 && now - since >= BELIEVED_NANOS;
        }

        boolean isFarFrom(int other) {
            long less = Math.min(calls, other);
            return less > 0 && Math.max(calls, other) >= JUMP_FACTOR * less;
        }
    }

    /** An instance that has stated nothing yet. */
    public StatedCapacity(CapacitySignal signal) {
        this.signal = signal;
    }

    /** The signal of the instance's backend. */
    public CapacitySignal signal() {
        return signal;
    }

    /** Reads and removes the field that states the capacity, if the signal is on. */
    public void read(HttpHeaders fields, long now) {
        AsciiString name = signal.field();
        String text = name == null ? null : fields.get(name);
        if (name == null || text == null) {
            return;
        }
        boolean isOnly = fields.getAll(name).size() == 1;
        fields.remove(name);
        int calls = isOnly ? number(text) : NONE;
        if (calls == NONE) {
            signal.ignore(Ignored.NOT_A_NUMBER);
        } else if (stated(calls, now)) {
            signal.changed();
        }
    }

    /** Returns whether this changes the number in force. */
    private boolean stated(int calls, long now) {
        while (true) {
            Statement seen = last.get();
            boolean isRepeated = seen != null && seen.isRecent(now) && seen.calls == calls;
            if (seen != null && isRepeated && seen.isStuckAtZero(now)) {
                signal.ignore(Ignored.ZERO);
            }
            if (seen != null && seen.isRecent(now) && seen.isFarFrom(calls)) {
                signal.ignore(Ignored.JUMP);
                return false;
            }
            if (seen != null && isRepeated && now - seen.at < REPEAT_NANOS) {
                return false;
            }
            Statement next = new Statement(calls, now, seen != null && isRepeated ? seen.since : now);
            if (last.compareAndSet(seen, next)) {
                return !isRepeated;
            }
        }
    }

    /** The number of calls that the instance takes at once; {@link #NONE}: it has not stated it lately. */
    public int calls(long now) {
        Statement seen = last.get();
        return seen == null || !seen.isRecent(now) || seen.isStuckAtZero(now) ? NONE : seen.calls;
    }

    /** Whether the instance has stated a number, be it long ago: else {@link #calls} need not be asked. */
    public boolean hasStated() {
        return last.get() != null;
    }

    /** Whether the instance has as many calls as it takes at once. */
    public boolean isReached(int inFlight, long now) {
        int calls = calls(now);
        return calls != NONE && inFlight >= calls;
    }

    /** The number; {@link #NONE}: the text is none from 0 to {@value #MOST}. */
    private static int number(String text) {
        int length = text.length();
        if (length == 0 || length > DECIMAL) {
            return NONE;
        }
        long number = 0;
        for (int i = 0; i < length; i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit >= DECIMAL) {
                return NONE;
            }
            number = number * DECIMAL + digit;
        }
        return number > MOST ? NONE : (int) number;
    }
}
