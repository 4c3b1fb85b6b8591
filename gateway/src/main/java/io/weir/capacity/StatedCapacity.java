package io.weir.capacity;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import io.weir.capacity.CapacitySignal.Ignored;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The number of calls that one instance takes at once, as it has stated it. A reload keeps it with the
 * instance.
 */
// Concurrency: `last` is the only atomic. Any thread reads an answer. An answer that repeats the number
// writes at most once in REPEAT_NANOS. One thread at a time writes `agent`.
public final class StatedCapacity {

    /** The instance states nothing. */
    public static final int NONE = -1;

    /** The time for which a statement counts. */
    static final long BELIEVED_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final long REPEAT_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final int JUMP_FACTOR = 100;
    private static final int MOST = 1_000_000;
    private static final int DECIMAL = 10;
    private static final Pattern WORDS = Pattern.compile("[ \\t,]+");
    private static final String MAXCONN = "maxconn:";

    private final CapacitySignal signal;
    private final AtomicReference<@Nullable Statement> last = new AtomicReference<>();
    private volatile AgentReport agent = AgentReport.NONE;

    /**
     * The last statement that was believed.
     *
     * @param at the moment at which it was last repeated
     * @param since the moment at which the number was first stated
     * @param isCeiling whether a learnt limit below the number stays: it follows from a utilisation
     */
    private record Statement(int calls, long at, long since, boolean isCeiling) {

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

    /** Whether the signal is on: else there is nothing to {@link #read}. */
    public boolean isOn() {
        return signal.field() != null;
    }

    /**
     * Reads and removes the field that states the capacity, if the signal is on.
     *
     * @param inFlight the calls in the instance, to which a utilisation refers
     */
    public void read(HttpHeaders fields, int inFlight, long now) {
        AsciiString name = signal.field();
        String text = name == null ? null : fields.get(name);
        if (name == null || text == null) {
            return;
        }
        boolean isOnly = fields.getAll(name).size() == 1;
        fields.remove(name);
        boolean isReport = isOnly && LoadReport.isOne(text);
        boolean isChanged = isReport
                ? reported(LoadReport.utilisation(text), inFlight, now)
                : stated(isOnly ? number(text) : NONE, now);
        if (isChanged) {
            signal.changed();
        }
    }

    /** What the instance's agent has said; nothing where none is configured. */
    public AgentReport agent() {
        return agent;
    }

    /** The part of its weight that the instance has, as its agent has said; percent, 1 or more. */
    public int percent() {
        return Math.max(1, agent.percent());
    }

    /**
     * The agent has said a line: words between blanks, tabs and commas, up to a {@code #}. Words that are not
     * known are ignored, and the line is counted.
     */
    public void heard(String line, long now) {
        AgentReport report = agent.heard(now);
        boolean isKnown = true;
        int comment = line.indexOf('#');
        for (String word : WORDS.split(comment < 0 ? line : line.substring(0, comment), -1)) {
            if (word.regionMatches(true, 0, MAXCONN, 0, MAXCONN.length())) {
                if (stated(number(word.substring(MAXCONN.length())), now)) {
                    signal.changed();
                }
            } else if (!word.isEmpty()) {
                AgentReport next = report.with(word);
                isKnown &= next != null;
                report = next == null ? report : next;
            }
        }
        agent = report;
        if (!isKnown) {
            signal.ignore(Ignored.AGENT_WORD);
        }
    }

    /** The agent has said nothing, or could not be asked. */
    public void notHeard(long now) {
        agent = agent.silent(now);
        signal.ignore(Ignored.AGENT_SILENT);
    }

    /** No agent is configured any more. Returns whether the weight changes. */
    public boolean forgetAgent() {
        boolean isLighter = agent.percent() < AgentReport.NONE.percent();
        agent = AgentReport.NONE;
        return isLighter;
    }

    /** Returns whether this changes the number in force. */
    private boolean reported(double utilisation, int inFlight, long now) {
        if (utilisation == LoadReport.MALFORMED || utilisation >= JUMP_FACTOR) {
            signal.ignore(utilisation == LoadReport.MALFORMED ? Ignored.NOT_A_NUMBER : Ignored.JUMP);
            return false;
        }
        if (inFlight == 0 || utilisation == LoadReport.UNKNOWN) {
            return false;
        }
        int calls = (int) Math.max(1, Math.min(MOST, inFlight / utilisation));
        while (true) {
            Statement seen = last.get();
            Statement ceiling = seen != null && seen.isCeiling && seen.isRecent(now) ? seen : null;
            Statement next = utilisation > 1 ? lowered(ceiling, calls, now) : raised(ceiling, calls);
            if (next == null) {
                return false;
            }
            if (last.compareAndSet(seen, next)) {
                return ceiling == null || ceiling.calls != calls;
            }
        }
    }

    /** The ceiling of an instance that is overloaded; null: it stays as it is. */
    private static @Nullable Statement lowered(@Nullable Statement ceiling, int calls, long now) {
        boolean isRepeated = ceiling != null && ceiling.calls == calls && now - ceiling.at < REPEAT_NANOS;
        return isRepeated ? null : new Statement(calls, now, now, true);
    }

    /** The ceiling of an instance that has room; it rises, but lasts no longer. Null: it stays as it is. */
    private static @Nullable Statement raised(@Nullable Statement ceiling, int calls) {
        return ceiling == null || ceiling.calls >= calls ? null : new Statement(calls, ceiling.at, ceiling.since, true);
    }

    /** Returns whether this changes the number in force. */
    private boolean stated(int calls, long now) {
        if (calls == NONE) {
            signal.ignore(Ignored.NOT_A_NUMBER);
            return false;
        }
        while (true) {
            Statement seen = last.get();
            Statement present = seen != null && !seen.isCeiling && seen.isRecent(now) ? seen : null;
            Statement repeated = present != null && present.calls == calls ? present : null;
            if (repeated != null && repeated.isStuckAtZero(now)) {
                signal.ignore(Ignored.ZERO);
            }
            if (present != null && present.isFarFrom(calls)) {
                signal.ignore(Ignored.JUMP);
                return false;
            }
            if (repeated != null && now - repeated.at < REPEAT_NANOS) {
                return false;
            }
            Statement next = new Statement(calls, now, repeated == null ? now : repeated.since, false);
            if (last.compareAndSet(seen, next)) {
                return repeated == null;
            }
        }
    }

    /** The number of calls that the instance takes at once; {@link #NONE}: it has not stated it lately. */
    public int calls(long now) {
        Statement seen = last.get();
        return seen == null || !seen.isRecent(now) || seen.isStuckAtZero(now) ? NONE : seen.calls;
    }

    /**
     * The calls that the instance gets at once by its statement; {@link #NONE}: it has not stated any lately,
     * or its utilisation permits what is learnt.
     *
     * @param learnt the calls that it gets by the learnt limit
     */
    public double part(double learnt, long now) {
        Statement seen = last.get();
        if (seen == null || !seen.isRecent(now) || seen.isStuckAtZero(now)) {
            return NONE;
        }
        return seen.isCeiling && seen.calls >= learnt ? NONE : seen.calls;
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
    static int number(String text) {
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
