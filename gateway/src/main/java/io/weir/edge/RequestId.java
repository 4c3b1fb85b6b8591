package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** {@code X-Request-Id}, which identifies a request in all logs. */
public final class RequestId {

    /** The field name. */
    public static final AsciiString X_REQUEST_ID = AsciiString.cached("x-request-id");

    private static final int MAX_CHARS = 128;
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private RequestId() {}

    /** The caller's id if it has 1 to 128 visible ASCII characters; a new one otherwise. */
    public static String of(HttpHeaders headers) {
        return of(headers.get(X_REQUEST_ID));
    }

    /** The id for a value of the field {@code X-Request-Id}; null: the request has none. */
    static String of(@Nullable CharSequence received) {
        if (received != null) {
            String id = received.toString();
            if (isUsable(id)) {
                return id;
            }
        }
        return create();
    }

    private static boolean isUsable(String id) {
        if (id.isEmpty() || id.length() > MAX_CHARS) {
            return false;
        }
        for (int i = 0; i < id.length(); i++) {
            char c = id.charAt(i);
            if (c <= ' ' || c >= 0x7f) {
                return false;
            }
        }
        return true;
    }

    /** 128 random bits: unique enough to find a request, and not a secret. */
    private static String create() {
        byte[] digits = new byte[32];
        ThreadLocalRandom random = ThreadLocalRandom.current();
        write(random.nextLong(), digits, 0);
        write(random.nextLong(), digits, 16);
        return new String(digits, StandardCharsets.ISO_8859_1);
    }

    private static void write(long bits, byte[] digits, int from) {
        for (int i = 0; i < 16; i++) {
            digits[from + i] = HEX[(int) (bits >>> (60 - 4 * i)) & 0xf];
        }
    }
}
