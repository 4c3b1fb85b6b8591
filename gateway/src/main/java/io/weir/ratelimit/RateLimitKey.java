package io.weir.ratelimit;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that determines the caller whose quota it uses. Immutable.
 *
 * <p>A key never has more than {@value #MAX_LENGTH} characters: a longer value of a header field is replaced
 * by its SHA-256, since callers choose the values and the gateway remembers them.
 */
final class RateLimitKey {

    /** The key of all requests that have no key of their own. */
    static final String SHARED = "";

    private static final String CLIENT_ADDRESS = "client-address";
    private static final String ROUTE = "route";
    private static final String HEADER_PREFIX = "header:";
    private static final int MAX_LENGTH = 128;

    private final boolean isAddress;
    private final @Nullable String header;

    private RateLimitKey(boolean isAddress, @Nullable String header) {
        this.isAddress = isAddress;
        this.header = header;
    }

    /**
     * Parses the property.
     *
     * @throws IllegalArgumentException if it is none of the known kinds
     */
    static RateLimitKey parse(String text) {
        if (text.equals(CLIENT_ADDRESS)) {
            return new RateLimitKey(true, null);
        }
        if (text.equals(ROUTE)) {
            return new RateLimitKey(false, null);
        }
        if (text.startsWith(HEADER_PREFIX) && text.length() > HEADER_PREFIX.length()) {
            return new RateLimitKey(false, text.substring(HEADER_PREFIX.length()));
        }
        throw new IllegalArgumentException("key: " + text + " (expected: client-address, header:NAME or route)");
    }

    /**
     * The key of a request.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is
     *     the key
     */
    String of(HttpHeaders head, Supplier<String> clientNetwork) {
        if (isAddress) {
            return clientNetwork.get();
        }
        return header == null ? SHARED : value(head, header);
    }

    /**
     * The key of a request in a counter outside of the gateway. Header values may be secrets of callers, so
     * they leave the gateway as SHA-256 only.
     *
     * @param key the result of {@link #of}
     */
    String outside(String key) {
        return isAddress || key.equals(SHARED) ? key : digest(key);
    }

    /**
     * The only value of a field. A repeated field has no key of its own: backend and gateway could read
     * different values, and each junk value beside the real one would be a new quota.
     */
    private static String value(HttpHeaders head, String name) {
        Iterator<? extends CharSequence> values = head.valueCharSequenceIterator(name);
        if (!values.hasNext()) {
            return SHARED;
        }
        String value = values.next().toString();
        if (values.hasNext()) {
            return SHARED;
        }
        return value.length() <= MAX_LENGTH ? value : digest(value);
    }

    private static String digest(String value) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(value.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(hash);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
