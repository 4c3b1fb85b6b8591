package io.weir.edge;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;

/** The gateway's entry in {@code Via} (RFC 9110, 7.6.3). */
public final class Via {

    /**
     * The protocol version and the gateway's pseudonym. Messages of every version are relayed as HTTP/1.1.
     */
    static final AsciiString ENTRY = AsciiString.cached("1.1 weir");

    private Via() {}

    /** Appends the entry to those of other intermediaries. */
    public static void append(HttpHeaders headers) {
        headers.add(HttpHeaderNames.VIA, ENTRY);
    }
}
