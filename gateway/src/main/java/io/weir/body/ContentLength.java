package io.weir.body;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;

/** Reads the declared length of a body. */
public final class ContentLength {

    /** The head declares no length, or one that is not a number. */
    public static final long UNKNOWN = -1;

    private ContentLength() {}

    /** The declared bytes; {@link #UNKNOWN} without a declaration. */
    public static long of(HttpHeaders head) {
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
