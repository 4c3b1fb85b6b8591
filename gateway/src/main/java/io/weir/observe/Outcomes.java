package io.weir.observe;

import io.weir.engine.Exchange;
import io.weir.fallback.Fallback;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of an exchange, in one word out of a bounded list: the {@link Reason}'s where the gateway answered by
 * itself, {@code fallback} where the fallback did, and else the class of the backend's status.
 *
 * <p>It is the {@code outcome} tag of {@code weir.requests} and the {@code outcome} of the access log.
 */
public final class Outcomes {

    /** The fallback answered. */
    public static final String FALLBACK = "fallback";

    /** The backend's status is of no class that HTTP knows. */
    public static final String OTHER = "other";

    private static final int REASONS = Reason.values().length;
    private static final int FALLBACK_INDEX = REASONS;
    private static final int OTHER_INDEX = REASONS + 1;
    private static final int LAST_CLASS = 5;
    private static final List<String> WORDS = List.copyOf(collect());

    private Outcomes() {}

    /** All words. */
    public static List<String> words() {
        return WORDS;
    }

    /** The word for an exchange that is over. */
    public static String of(Exchange exchange) {
        return WORDS.get(index(exchange));
    }

    /** Where the exchange's word stands among {@link #words()}. */
    static int index(Exchange exchange) {
        return index(exchange.reason(), exchange.fellBack(), exchange.route().fallback(), exchange.status());
    }

    /**
     * A static fallback keeps the reason that led to it. Another backend's does not: there a reason is what became of
     * that one, or of the caller.
     */
    static int index(@Nullable Reason reason, boolean fellBack, @Nullable Fallback fallback, int status) {
        if (fellBack && (reason == null || (fallback != null && fallback.isStatic() && fallback.covers(reason)))) {
            return FALLBACK_INDEX;
        }
        return reason != null ? index(reason) : index(status);
    }

    /** Where the reason's word stands among {@link #words()}. */
    @SuppressWarnings("EnumOrdinal") // An index into an array that lives as long as the enum, never stored.
    static int index(Reason reason) {
        return reason.ordinal();
    }

    /** Where the word for a backend's status stands among {@link #words()}. */
    static int index(int status) {
        int statusClass = status / 100;
        return statusClass >= 1 && statusClass <= LAST_CLASS ? OTHER_INDEX + statusClass : OTHER_INDEX;
    }

    private static List<String> collect() {
        List<String> words = new ArrayList<>();
        for (Reason reason : Reason.values()) {
            words.add(reason.word());
        }
        words.add(FALLBACK);
        words.add(OTHER);
        for (int statusClass = 1; statusClass <= LAST_CLASS; statusClass++) {
            words.add(statusClass + "xx");
        }
        return words;
    }
}
