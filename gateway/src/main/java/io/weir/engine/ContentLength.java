package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;

/** What a head says of its body's length. */
final class ContentLength {

    /** It says nothing, or no number. */
    static final long UNKNOWN = -1;

    private ContentLength() {}

    /** Bytes; {@link #UNKNOWN} if it does not say. */
    static long of(HttpHeaders head) {
        String length = head.get(HttpHeaderNames.CONTENT_LENGTH);
        if (length == null) {
            return UNKNOWN;
        }
        try {
            return Long.parseLong(length);
        } catch (NumberFormatException e) {
            return UNKNOWN;
        }
    }
}
