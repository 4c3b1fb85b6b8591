package io.weir.instance;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that is hashed, so that equal requests get the same instance or the same route of a
 * weighted group. All gateways compute the same hash. Immutable.
 *
 * <p>Callers choose the values. A caller can choose values that lead to one instance; the bound on an
 * instance's load limits the effect (see {@link HashRing}).
 */
public final class HashKey {

    /** The hash of a request without the key. */
    public static final long NONE = 0;

    private static final String ADDRESS = "client-address";
    private static final String HEADER = "header:";
    private static final String COOKIE = "cookie:";

    /** The form of a property. */
    public static final String PATTERN = "client-address|(header|cookie):[!#$%&'*+.^_`|~0-9A-Za-z-]+";

    /** The expected form, in the message for any other value. */
    public static final String EXPECTED = "client-address, header:NAME or cookie:NAME";

    private final @Nullable AsciiString header;
    private final @Nullable String cookie;

    private HashKey(@Nullable AsciiString header, @Nullable String cookie) {
        this.header = header;
        this.cookie = cookie;
    }

    /**
     * The key of a property.
     *
     * @throws IllegalArgumentException if the text has another form than {@link #PATTERN}
     */
    public static HashKey of(String text) {
        if (!text.matches(PATTERN)) {
            throw new IllegalArgumentException("hash-key: " + text + " (expected: " + EXPECTED + ")");
        }
        if (text.equals(ADDRESS)) {
            return new HashKey(null, null);
        }
        return text.startsWith(HEADER)
                ? new HashKey(AsciiString.cached(text.substring(HEADER.length()).toLowerCase(Locale.ROOT)), null)
                : new HashKey(null, text.substring(COOKIE.length()));
    }

    /**
     * The hash of a request's key; {@link #NONE}: the request has no key, or an empty one. Of a field or
     * cookie that is repeated, the first value counts.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is the
     *     key
     */
    public long hash(HttpHeaders head, Supplier<String> clientNetwork) {
        if (header != null) {
            String value = head.get(header);
            return value == null ? NONE : hash(value, 0, value.length());
        }
        if (cookie != null) {
            return cookieHash(head, cookie);
        }
        String address = clientNetwork.get();
        return hash(address, 0, address.length());
    }

    private static long cookieHash(HttpHeaders head, String name) {
        String first = head.get(HttpHeaderNames.COOKIE);
        if (first == null) {
            return NONE;
        }
        long hash = cookieHash(first, name);
        if (hash != NONE) {
            return hash;
        }
        // HTTP/2 may send each cookie in a field of its own (RFC 9113, 8.2.3).
        Iterator<? extends CharSequence> fields = head.valueCharSequenceIterator(HttpHeaderNames.COOKIE);
        while (hash == NONE && fields.hasNext()) {
            hash = cookieHash(fields.next(), name);
        }
        return hash;
    }

    private static long cookieHash(CharSequence field, String name) {
        int at = 0;
        while (at < field.length()) {
            int end = at;
            while (end < field.length() && field.charAt(end) != ';') {
                end++;
            }
            int start = at;
            while (start < end && field.charAt(start) == ' ') {
                start++;
            }
            int valueAt = start + name.length();
            if (valueAt < end && field.charAt(valueAt) == '=' && startsWith(field, start, name)) {
                return hash(field, valueAt + 1, end);
            }
            at = end + 1;
        }
        return NONE;
    }

    private static boolean startsWith(CharSequence text, int start, String prefix) {
        for (int i = 0; i < prefix.length(); i++) {
            if (text.charAt(start + i) != prefix.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    /** FNV-1a with 64 bits over the characters, mixed; never {@link #NONE} for a text. */
    private static long hash(CharSequence text, int start, int end) {
        if (start >= end) {
            return NONE;
        }
        long hash = 0xcbf29ce484222325L;
        for (int i = start; i < end; i++) {
            hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
        }
        long mixed = mix(hash);
        return mixed == NONE ? 1 : mixed;
    }

    /** The hash of a text that is not a caller's. */
    public static long hash(String text) {
        return hash(text, 0, text.length());
    }

    /** Stafford's variant 13 of MurmurHash3's finalizer, as in {@link java.util.SplittableRandom}. */
    static long mix(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    /**
     * A number from 0 (inclusive) to 1 (exclusive) that follows from a hash. Different salts give
     * independent numbers.
     */
    public static double fraction(long hash, long salt) {
        return (mix(hash ^ (salt * 0x9e3779b97f4a7c15L)) >>> 11) * 0x1.0p-53;
    }
}
