package io.weir.engine;

import com.fasterxml.jackson.annotation.JsonValue;
import io.weir.fallback.Fallback;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of an exchange, in one word out of a bounded list: the {@link Reason}'s where the gateway answered by
 * itself, {@code fallback} where the fallback did, and else the class of the backend's status.
 *
 * <p>It is the {@code outcome} tag of {@code weir.requests}, the {@code outcome} of the access log, and {@code weir.outcome} of
 * a span.
 */
public final class ExchangeOutcomes {

    /** The fallback answered. */
    public static final String FALLBACK = "fallback";

    /** The backend's status is of no class that HTTP knows. */
    public static final String OTHER = "other";

    /** Whose doing an outcome is: what the dashboard colours it by. */
    public enum Kind {
        /** The backend's answer, and not an error of its. */
        ANSWERED,
        /** The caller's: its request was wrong, or it left. */
        CALLER,
        /** A fallback stood in. */
        FALLBACK,
        /** Refused to protect the backend or the gateway. */
        SHED,
        /** The backend failed, or the gateway did. */
        FAILED;

        /** As it is shown. */
        @JsonValue
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        /** Whether a caller did not get what the backend is there for. */
        public boolean isTrouble() {
            return this == SHED || this == FAILED;
        }
    }

    private static final int REASONS = Reason.values().length;
    private static final int FALLBACK_INDEX = REASONS;
    private static final int OTHER_INDEX = REASONS + 1;
    private static final int LAST_CLASS = 5;
    private static final List<String> WORDS = List.copyOf(collect());
    private static final List<Kind> KINDS =
            WORDS.stream().map(ExchangeOutcomes::kind).toList();

    private ExchangeOutcomes() {}

    /** All words. */
    public static List<String> words() {
        return WORDS;
    }

    /** The word for an exchange that is over. */
    public static String of(Exchange exchange) {
        return WORDS.get(index(exchange));
    }

    /** Where the exchange's word stands among {@link #words()}. */
    public static int index(Exchange exchange) {
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
    public static int index(Reason reason) {
        return reason.ordinal();
    }

    /** Where the word for a backend's status stands among {@link #words()}. */
    public static int index(int status) {
        int statusClass = status / 100;
        return statusClass >= 1 && statusClass <= LAST_CLASS ? OTHER_INDEX + statusClass : OTHER_INDEX;
    }

    /** Whose doing the outcome is that stands there among {@link #words()}. */
    public static Kind kind(int index) {
        return KINDS.get(index);
    }

    private static Kind kind(String word) {
        return switch (word) {
            case FALLBACK -> Kind.FALLBACK;
            case OTHER, "1xx", "2xx", "3xx" -> Kind.ANSWERED;
            case "4xx" -> Kind.CALLER;
            case "5xx" -> Kind.FAILED;
            default -> kind(Reason.of(word));
        };
    }

    private static Kind kind(Reason reason) {
        return switch (reason) {
            case CIRCUIT_OPEN, BULKHEAD_FULL, QUEUE_TIMEOUT, GATEWAY_OVERLOADED, SHUTTING_DOWN -> Kind.SHED;
            case DEADLINE_EXCEEDED, CONNECT_TIMEOUT, CONNECT_FAILED, CONNECTION_LOST, INTERNAL_ERROR -> Kind.FAILED;
            case BAD_REQUEST,
                    PAYLOAD_TOO_LARGE,
                    URI_TOO_LONG,
                    HEADERS_TOO_LARGE,
                    CLIENT_TOO_SLOW,
                    NO_ROUTE,
                    CLIENT_CLOSED -> Kind.CALLER;
        };
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
