package io.weir.faults;

import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The fault that an operator asks for.
 *
 * @param scope the calls that it can act on
 * @param type the misbehaviour
 * @param percent share of these calls that get it; above 0, at most 100
 * @param header the name of a field that the request must have; null: any request
 * @param value the exact value of that field; null: any value
 * @param latency the time before the request is sent, for {@code latency}; above 0, at most an hour; else
 *     null
 * @param status the answer's status, for {@code abort}; 400 to 599; else 0
 * @param afterBytes bytes of the answer's body that pass, for {@code truncate}; 0 or more; else 0
 * @param duration the time after which the fault heals by itself; above 0
 */
public record FaultOrder(
        FaultScope scope,
        FaultType type,
        double percent,
        @Nullable String header,
        @Nullable String value,
        @Nullable Duration latency,
        int status,
        long afterBytes,
        Duration duration) {

    private static final int FIRST_ERROR = 400;
    private static final int LAST_ERROR = 599;
    private static final double MAX_PERCENT = 100;
    private static final Duration MAX_LATENCY = Duration.ofHours(1);

    /** Checks every value, and refuses values that the type does not use. */
    public FaultOrder {
        require(percent > 0 && percent <= MAX_PERCENT, "percent", percent, "> 0 and <= 100");
        require(!duration.isNegative() && !duration.isZero(), "duration", text(duration), "> 0");
        require(value == null || header != null, "value", value, "together with header");
        require(header == null || !header.isBlank(), "header", header, "the name of a field");
        if (type == FaultType.LATENCY) {
            require(
                    latency != null && latency.isPositive() && latency.compareTo(MAX_LATENCY) <= 0,
                    "latency",
                    latency == null ? null : text(latency),
                    "> 0 and <= 1h");
        } else {
            require(latency == null, "latency", latency == null ? null : text(latency), "only for the fault latency");
        }
        if (type == FaultType.ABORT) {
            require(status >= FIRST_ERROR && status <= LAST_ERROR, "status", status, "400 to 599");
        } else {
            require(status == 0, "status", status, "only for the fault abort");
        }
        require(
                type == FaultType.TRUNCATE ? afterBytes >= 0 : afterBytes == 0,
                "after-bytes",
                afterBytes,
                ">= 0, only for the fault truncate");
    }

    private static void require(boolean holds, String name, @Nullable Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(
                    name + ": " + (value == null ? "missing" : value) + " (expected: " + expected + ")");
        }
    }

    /** {@code hang of 50 % of the calls of backend orders with x-chaos: 1}. */
    public String description() {
        StringBuilder text = new StringBuilder(type.word());
        if (latency != null) {
            text.append(" of ").append(text(latency)).append(" for ");
        } else if (type == FaultType.ABORT) {
            text.append(" with ").append(status).append(" of ");
        } else if (type == FaultType.TRUNCATE) {
            text.append(" after ").append(afterBytes).append(" bytes of ");
        } else {
            text.append(" of ");
        }
        text.append(String.format(Locale.ROOT, percent == Math.rint(percent) ? "%.0f" : "%s", percent))
                .append(" % of the calls of ")
                .append(scope);
        if (header != null) {
            text.append(" with ").append(header);
            if (value != null) {
                text.append(": ").append(value);
            }
        }
        return text.toString();
    }

    /** {@code 1500ms} or {@code 2s}. */
    public static String text(Duration duration) {
        return duration.toMillisPart() == 0 ? duration.toSeconds() + "s" : duration.toMillis() + "ms";
    }
}
