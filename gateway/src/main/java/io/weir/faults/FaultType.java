package io.weir.faults;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The misbehaviour of a backend that a fault imitates. */
public enum FaultType {
    /** The request is sent only after a fixed time. */
    LATENCY,
    /** The gateway answers with a status in place of the backend. */
    ABORT,
    /** Nothing is sent, and nothing arrives. */
    HANG,
    /** The connection is lost before the answer's head. */
    RESET,
    /** The connection is lost within the answer's body. */
    TRUNCATE;

    private final String word = name().toLowerCase(Locale.ROOT);

    /** The word in requests, metrics and logs, such as {@code latency}. */
    public String word() {
        return word;
    }

    /**
     * The type with this word.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static FaultType of(String word) {
        for (FaultType type : values()) {
            if (type.word.equals(word)) {
                return type;
            }
        }
        throw new IllegalArgumentException("fault: " + word + " (expected: one of "
                + Arrays.stream(values()).map(FaultType::word).collect(Collectors.joining(", ")) + ")");
    }
}
