package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;

/** The gateway's entry in {@code Via} (RFC 9110, 7.6.3). */
public final class Via {

    /** The pseudonym, and the version that messages are relayed in: whatever came, it is read as HTTP/1.1. */
    static final AsciiString ENTRY = AsciiString.cached("1.1 weir");

    private Via() {}

    /** Appends it to what other intermediaries have written. */
    public static void append(HttpHeaders headers) {
        headers.add(HttpHeaderNames.VIA, ENTRY);
    }
}
