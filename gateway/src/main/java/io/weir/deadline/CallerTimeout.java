package io.weir.deadline;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads the timeouts that callers send, and writes the remaining time for backends.
 *
 * <p>Three dialects are supported: {@code X-Request-Timeout} ({@code 250ms}, {@code 2s}, or bare
 * milliseconds), {@code grpc-timeout} (up to eight digits and a unit of {@code H M S m u n}, as the gRPC
 * protocol has it), and {@code x-envoy-expected-rq-timeout-ms} (milliseconds).
 */
public final class CallerTimeout {

    /** The caller sent no timeout. */
    public static final long NONE = Long.MAX_VALUE;

    /** Weir's own header. */
    public static final AsciiString X_REQUEST_TIMEOUT = AsciiString.cached("x-request-timeout");

    /** The gRPC protocol's header. */
    public static final AsciiString GRPC_TIMEOUT = AsciiString.cached("grpc-timeout");

    /** Envoy's header for upstreams. */
    public static final AsciiString ENVOY_EXPECTED = AsciiString.cached("x-envoy-expected-rq-timeout-ms");

    private static final int MAX_DIGITS = 12;
    private static final int MAX_GRPC_DIGITS = 8;
    private static final long MAX_NANOS = TimeUnit.DAYS.toNanos(1);

    private CallerTimeout() {}

    /**
     * The shortest timeout in any dialect, in nanoseconds, or {@link #NONE}.
     *
     * @throws IllegalArgumentException if a value is malformed, zero or negative; the message has the header
     *     and the value
     */
    public static long read(HttpHeaders headers) {
        long smallest = NONE;
        CharSequence own = headers.get(X_REQUEST_TIMEOUT);
        if (own != null) {
            smallest = min(smallest, headers, X_REQUEST_TIMEOUT);
        }
        CharSequence grpc = headers.get(GRPC_TIMEOUT);
        if (grpc != null) {
            smallest = min(smallest, headers, GRPC_TIMEOUT);
        }
        CharSequence envoy = headers.get(ENVOY_EXPECTED);
        if (envoy != null) {
            smallest = min(smallest, headers, ENVOY_EXPECTED);
        }
        return smallest;
    }

    /**
     * Writes the remaining time into the head of the request to the backend: always as {@code
     * X-Request-Timeout}, and in every other dialect that the caller used.
     *
     * @param leftNanos the remaining time, more than zero; written in milliseconds, rounded up, so that it is
     *     never zero
     */
    public static void write(HttpHeaders toBackend, long leftNanos) {
        String millis = Long.toString(ceilMillis(leftNanos));
        if (toBackend.contains(GRPC_TIMEOUT)) {
            toBackend.set(GRPC_TIMEOUT, grpc(leftNanos));
        }
        if (toBackend.contains(ENVOY_EXPECTED)) {
            toBackend.set(ENVOY_EXPECTED, millis);
        }
        toBackend.set(X_REQUEST_TIMEOUT, millis + "ms");
    }

    private static long min(long smallest, HttpHeaders headers, AsciiString name) {
        for (String value : headers.getAll(name)) {
            smallest = Math.min(smallest, parse(name, value));
        }
        return smallest;
    }

    private static long parse(AsciiString name, String value) {
        Long nanos =
                switch (name.toString()) {
                    case "grpc-timeout" -> parseGrpc(value);
                    case "x-envoy-expected-rq-timeout-ms" -> parseAmount(value, value.length(), MAX_DIGITS, 1_000_000);
                    default -> parseOwn(value);
                };
        if (nanos == null) {
            String expected = name.equals(GRPC_TIMEOUT)
                    ? "1 to 8 digits, more than zero, and one of H, M, S, m, u, n"
                    : name.equals(ENVOY_EXPECTED)
                            ? "a whole number of milliseconds, more than zero"
                            : "250ms, 2s or a whole number of milliseconds, more than zero";
            throw new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
        }
        return nanos;
    }

    private static @Nullable Long parseOwn(String value) {
        if (value.endsWith("ms")) {
            return parseAmount(value, value.length() - 2, MAX_DIGITS, 1_000_000);
        }
        if (value.endsWith("s")) {
            return parseAmount(value, value.length() - 1, MAX_DIGITS, 1_000_000_000);
        }
        return parseAmount(value, value.length(), MAX_DIGITS, 1_000_000);
    }

    private static @Nullable Long parseGrpc(String value) {
        if (value.isEmpty()) {
            return null;
        }
        int digits = value.length() - 1;
        long unit =
                switch (value.charAt(digits)) {
                    case 'H' -> TimeUnit.HOURS.toNanos(1);
                    case 'M' -> TimeUnit.MINUTES.toNanos(1);
                    case 'S' -> TimeUnit.SECONDS.toNanos(1);
                    case 'm' -> TimeUnit.MILLISECONDS.toNanos(1);
                    case 'u' -> TimeUnit.MICROSECONDS.toNanos(1);
                    case 'n' -> 1;
                    default -> 0;
                };
        return unit == 0 ? null : parseAmount(value, digits, MAX_GRPC_DIGITS, unit);
    }

    /**
     * The number in the first {@code length} characters, times a unit; null if they are not digits, or zero.
     */
    private static @Nullable Long parseAmount(String value, int length, int maxDigits, long unitNanos) {
        if (length < 1 || length > maxDigits) {
            return null;
        }
        long amount = 0;
        for (int i = 0; i < length; i++) {
            char c = value.charAt(i);
            if (c < '0' || c > '9') {
                return null;
            }
            amount = amount * 10 + (c - '0');
        }
        if (amount == 0) {
            return null;
        }
        // Longer than any configurable deadline: the largest value has the same effect and cannot overflow.
        return amount >= MAX_NANOS / unitNanos ? MAX_NANOS : amount * unitNanos;
    }

    private static long ceilMillis(long nanos) {
        return (nanos + 999_999) / 1_000_000;
    }

    /** The time in the finest unit in which it fits into the protocol's eight digits. */
    private static String grpc(long nanos) {
        long limit = 100_000_000;
        if (nanos < limit) {
            return nanos + "n";
        }
        if (nanos / 1_000 < limit) {
            return nanos / 1_000 + "u";
        }
        return nanos / 1_000_000 + "m";
    }
}
