package io.weir.limit;

import io.netty.util.AsciiString;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that names its tenant: one of the two, or the caller's address.
 *
 * @param header a header field of trusted proxies; null: another part
 * @param claim a claim of the caller's verified token; null: another part
 */
public record TenantKey(
        @Nullable AsciiString header, @Nullable String claim) {

    /** The word for the caller's address. */
    static final String CLIENT_ADDRESS = "client-address";

    /** The prefix of the name of a header field. */
    public static final String HEADER = "header:";

    /** The prefix of the name of a claim. */
    public static final String CLAIM = "claim:";

    /** The longest name of a tenant; the rest of a claim is cut off, since names are remembered. */
    private static final int MAX_NAME_CHARS = 128;

    /** The tenant's name from the text of a claim; null: none. */
    public static @Nullable String name(@Nullable String claimed) {
        return claimed == null || claimed.length() <= MAX_NAME_CHARS ? claimed : claimed.substring(0, MAX_NAME_CHARS);
    }

    /**
     * The key of a property.
     *
     * @throws IllegalArgumentException if the text is none of the known kinds
     */
    public static TenantKey of(String text) {
        if (text.equals(CLIENT_ADDRESS)) {
            return new TenantKey(null, null);
        }
        if (text.startsWith(HEADER) && text.length() > HEADER.length()) {
            return new TenantKey(
                    AsciiString.cached(text.substring(HEADER.length()).toLowerCase(Locale.ROOT)), null);
        }
        if (text.startsWith(CLAIM) && text.length() > CLAIM.length()) {
            return new TenantKey(null, text.substring(CLAIM.length()));
        }
        throw new IllegalArgumentException("key: " + text + " (expected: client-address, header:NAME or claim:NAME)");
    }
}
