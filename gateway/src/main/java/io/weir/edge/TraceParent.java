package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * {@code traceparent} of W3C's trace context. The access log and the traces read it; it is passed on
 * unchanged unless a span replaces it.
 */
public final class TraceParent {

    /** The field name. */
    public static final AsciiString TRACEPARENT = AsciiString.cached("traceparent");

    private static final int TRACE_ID = 3;
    private static final int PARENT_ID = 36;
    private static final int FLAGS = 53;
    private static final int LENGTH = 55;

    private TraceParent() {}

    /** The trace id, 32 hexadecimal digits; null if there is no valid {@code traceparent}. */
    public static @Nullable String traceId(HttpHeaders headers) {
        Iterator<String> values = headers.valueStringIterator(TRACEPARENT);
        if (!values.hasNext()) {
            return null;
        }
        String value = values.next();
        return !values.hasNext() && isValid(value) ? value.substring(TRACE_ID, PARENT_ID - 1) : null;
    }

    private static boolean isValid(String value) {
        int length = value.length();
        if (length < LENGTH
                || value.charAt(TRACE_ID - 1) != '-'
                || value.charAt(PARENT_ID - 1) != '-'
                || value.charAt(FLAGS - 1) != '-') {
            return false;
        }
        boolean first = value.startsWith("00");
        if (first ? length != LENGTH : length > LENGTH && value.charAt(LENGTH) != '-') {
            return false;
        }
        return isHex(value, 0, TRACE_ID - 1)
                && !value.startsWith("ff")
                && isHex(value, TRACE_ID, PARENT_ID - 1)
                && !isZero(value, TRACE_ID, PARENT_ID - 1)
                && isHex(value, PARENT_ID, FLAGS - 1)
                && !isZero(value, PARENT_ID, FLAGS - 1)
                && isHex(value, FLAGS, LENGTH);
    }

    private static boolean isHex(String value, int from, int to) {
        for (int i = from; i < to; i++) {
            char c = value.charAt(i);
            if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isZero(String value, int from, int to) {
        for (int i = from; i < to; i++) {
            if (value.charAt(i) != '0') {
                return false;
            }
        }
        return true;
    }
}
