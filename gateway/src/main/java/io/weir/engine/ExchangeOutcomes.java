package io.weir.engine;

import com.fasterxml.jackson.annotation.JsonValue;
import io.weir.outcome.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of an exchange as one word of a bounded list: the word of the {@link Reason} if the gateway
 * answered by itself, {@code fallback} if an answer of the configuration or the last good answer took the
 * place of the backend's, else the class of the backend's status.
 *
 * <p>The word is the {@code outcome} tag of {@code weir.requests}, the {@code outcome} of the access log, and
 * {@code weir.outcome} of a span.
 */
public final class ExchangeOutcomes {

    /** The fallback answered, the last good answer was used, or the route answered by itself. */
    public static final String FALLBACK = "fallback";

    /** The backend's status is not from 100 to 599. */
    public static final String OTHER = "other";

    /** The party that caused an outcome. The dashboard colours outcomes by it. */
    public enum Kind {
        /** The backend answered, without an error of its own. */
        ANSWERED,
        /** The caller's request was wrong, unauthorized or forbidden, its quota was used up, or it left. */
        CALLER,
        /** The fallback answered. */
        FALLBACK,
        /** The gateway refused, to protect the backend or itself. */
        SHED,
        /** The backend or the gateway failed. */
        FAILED;

        /** The word that is displayed. */
        @JsonValue
        public String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        /** Whether the caller did not get an answer although its request was valid. */
        public boolean isTrouble() {
            return this == SHED || this == FAILED;
        }
    }

    private static final int REASONS = Reason.values().length;
    private static final int FALLBACK_INDEX = REASONS;
    private static final int OTHER_INDEX = REASONS + 1;
    private static final int LAST_CLASS = 5;
    private static final List<String> WORDS = List.copyOf(allWords());
    private static final List<Kind> KINDS =
            WORDS.stream().map(ExchangeOutcomes::kind).toList();

    private ExchangeOutcomes() {}

    /** All words, in a fixed order. */
    public static List<String> words() {
        return WORDS;
    }

    /** The word of an exchange that has ended. */
    public static String of(ExchangeRecord exchange) {
        return WORDS.get(index(exchange));
    }

    /** The index of the exchange's word in {@link #words()}. */
    public static int index(ExchangeRecord exchange) {
        return index(exchange.reason(), exchange.replacement(), exchange.status());
    }

    /**
     * The index of the word. With a static fallback or a last good answer, the reason is that of the
     * replaced refusal. With a fallback backend, it is the reason for which that backend or the caller ended
     * the exchange.
     */
    static int index(@Nullable Reason reason, @Nullable Replacement replacement, int status) {
        if (replacement != null && replacement.endsWith(reason)) {
            return FALLBACK_INDEX;
        }
        return reason != null ? index(reason) : index(status);
    }

    /** The index of the reason's word in {@link #words()}. */
    @SuppressWarnings("EnumOrdinal") // An index into an array of the same process; never stored.
    public static int index(Reason reason) {
        return reason.ordinal();
    }

    /** The index of the word of a backend's status in {@link #words()}. */
    public static int index(int status) {
        int statusClass = status / 100;
        return statusClass >= 1 && statusClass <= LAST_CLASS ? OTHER_INDEX + statusClass : OTHER_INDEX;
    }

    /** Whether the word says that the backend answered, with any status. */
    public static boolean isAnswerOfBackend(String word) {
        return WORDS.indexOf(word) >= OTHER_INDEX;
    }

    /** The party that caused the outcome with this index in {@link #words()}. */
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
            case CIRCUIT_OPEN, BULKHEAD_FULL, QUEUE_TIMEOUT, QUEUE_EVICTED, GATEWAY_OVERLOADED, SHUTTING_DOWN ->
                Kind.SHED;
            case AUTHORIZER_FAILED,
                    DEADLINE_EXCEEDED,
                    CONNECT_TIMEOUT,
                    CONNECT_FAILED,
                    CONNECTION_LOST,
                    FAULT_INJECTED,
                    INTERNAL_ERROR -> Kind.FAILED;
            case UNAUTHORIZED,
                    FORBIDDEN,
                    RATE_LIMITED,
                    BAD_REQUEST,
                    PAYLOAD_TOO_LARGE,
                    MISDIRECTED,
                    URI_TOO_LONG,
                    HEADERS_TOO_LARGE,
                    CLIENT_TOO_SLOW,
                    NO_ROUTE,
                    CLIENT_CLOSED -> Kind.CALLER;
        };
    }

    private static List<String> allWords() {
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
