package io.weir.limit;

import io.netty.util.AsciiString;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that names its tenant.
 *
 * @param header a header field of trusted proxies; null: the caller's address
 */
public record TenantKey(@Nullable AsciiString header) {

    /** The word for the caller's address. */
    static final String CLIENT_ADDRESS = "client-address";

    /** The prefix of the name of a header field. */
    public static final String HEADER = "header:";

    /**
     * The key of a property.
     *
     * @throws IllegalArgumentException if the text is neither {@code client-address} nor {@code header:NAME}
     */
    public static TenantKey of(String text) {
        if (text.equals(CLIENT_ADDRESS)) {
            return new TenantKey(null);
        }
        if (!text.startsWith(HEADER) || text.length() == HEADER.length()) {
            throw new IllegalArgumentException("key: " + text + " (expected: client-address or header:NAME)");
        }
        return new TenantKey(AsciiString.cached(text.substring(HEADER.length()).toLowerCase(Locale.ROOT)));
    }
}
