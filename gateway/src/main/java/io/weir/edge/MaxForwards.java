package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import java.util.List;

/**
 * {@code Max-Forwards}, with which the sender of OPTIONS or TRACE chooses the intermediary that answers (RFC
 * 9110, 7.6.2). Other methods keep the field, and so does a request in which it is no number: no
 * specification gives that a meaning.
 */
public final class MaxForwards {

    private static final int MAX_DIGITS = 9;

    /** Replaces a number with more than {@value #MAX_DIGITS} digits, which is not lowered by one. */
    private static final String LARGEST = "9".repeat(MAX_DIGITS);

    private MaxForwards() {}

    /** Lowers the number in a request's head by one. Returns whether the request may be forwarded. */
    public static boolean lower(HttpMethod method, HttpHeaders head) {
        if (!HttpMethod.OPTIONS.equals(method) && !HttpMethod.TRACE.equals(method)) {
            return true;
        }
        List<String> values = head.getAll(HttpHeaderNames.MAX_FORWARDS);
        if (values.size() != 1 || !isNumber(values.getFirst())) {
            return true;
        }
        String digits = values.getFirst();
        int zeros = 0;
        while (zeros < digits.length() && digits.charAt(zeros) == '0') {
            zeros++;
        }
        String number = digits.substring(zeros);
        if (number.isEmpty()) {
            return false;
        }
        head.set(
                HttpHeaderNames.MAX_FORWARDS,
                number.length() > MAX_DIGITS ? LARGEST : Integer.toString(Integer.parseInt(number) - 1));
        return true;
    }

    private static boolean isNumber(String value) {
        return !value.isEmpty() && value.chars().allMatch(c -> c >= '0' && c <= '9');
    }
}
