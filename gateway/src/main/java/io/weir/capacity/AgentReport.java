package io.weir.capacity;

import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the agent of an instance has said and not taken back. A word that it no longer says stays, as in
 * HAProxy, until the agent has not been heard for a minute.
 *
 * @param hold {@code drain} or {@code maint}, until {@code ready}; null: neither
 * @param fault {@code down}, {@code stopped} or {@code fail}, until {@code up}; null: none
 * @param percent the part of its weight that the instance has
 * @param heardAt the moment of the last line
 * @param isSilent whether it gave no line since
 */
public record AgentReport(@Nullable String hold, @Nullable String fault, int percent, long heardAt, boolean isSilent) {

    /** Nothing was said. */
    static final AgentReport NONE = new AgentReport(null, null, 100, 0, false);

    /** The time for which a silent agent's words count. */
    private static final long KEPT_NANOS = TimeUnit.MINUTES.toNanos(1);

    private static final int ALL = 100;

    /** The word that keeps the instance out; null: none. */
    public @Nullable String outWord() {
        return fault != null ? fault : hold != null ? hold : percent == 0 ? "0%" : null;
    }

    /** The report with another word; null: the word is not known. */
    @Nullable
    AgentReport with(String word) {
        String known = word.toLowerCase(Locale.ROOT);
        return switch (known) {
            case "ready" -> new AgentReport(null, fault, percent, heardAt, isSilent);
            case "drain", "maint" -> new AgentReport(known, fault, percent, heardAt, isSilent);
            case "up" -> new AgentReport(hold, null, percent, heardAt, isSilent);
            case "down", "stopped", "fail" -> new AgentReport(hold, known, percent, heardAt, isSilent);
            default -> known.endsWith("%") ? withPercent(known.substring(0, known.length() - 1)) : null;
        };
    }

    private @Nullable AgentReport withPercent(String digits) {
        int part = StatedCapacity.number(digits);
        return part == StatedCapacity.NONE || part > ALL ? null : new AgentReport(hold, fault, part, heardAt, isSilent);
    }

    AgentReport heard(long now) {
        return new AgentReport(hold, fault, percent, now, false);
    }

    /** The report of an agent that does not answer. */
    AgentReport silent(long now) {
        return now - heardAt < KEPT_NANOS
                ? new AgentReport(hold, fault, percent, heardAt, true)
                : new AgentReport(null, null, ALL, heardAt, true);
    }
}
