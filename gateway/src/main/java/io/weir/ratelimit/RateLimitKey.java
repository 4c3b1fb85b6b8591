package io.weir.ratelimit;

import io.netty.handler.codec.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The part of a request that determines the caller whose quota it uses. Immutable.
 *
 * <p>A key never has more than {@value #MAX_LENGTH} characters: a longer value of a header field or claim is
 * replaced by its SHA-256, since callers choose the values and the gateway remembers them.
 */
final class RateLimitKey {

    /** The form of the property. */
    static final String PATTERN = "client-address|route|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+|claim:[^\\s=]{1,100}";

    static final String EXPECTED = "client-address, header:NAME, claim:NAME or route";

    /** The key of all requests that have no key of their own. */
    static final String SHARED = "";

    private static final String CLIENT_ADDRESS = "client-address";
    private static final String ROUTE = "route";
    private static final String HEADER_PREFIX = "header:";
    private static final int MAX_LENGTH = 128;

    private enum KeyPart {
        ADDRESS,
        ROUTE,
        HEADER,
        CLAIM
    }

    private final KeyPart part;
    /** Of the header field or claim. */
    private final String name;

    private RateLimitKey(KeyPart part, String name) {
        this.part = part;
        this.name = name;
    }

    /**
     * Parses the property.
     *
     * @throws IllegalArgumentException if it is none of the known kinds
     */
    static RateLimitKey parse(String text) {
        if (text.equals(CLIENT_ADDRESS)) {
            return new RateLimitKey(KeyPart.ADDRESS, "");
        }
        if (text.equals(ROUTE)) {
            return new RateLimitKey(KeyPart.ROUTE, "");
        }
        if (text.startsWith(HEADER_PREFIX) && text.length() > HEADER_PREFIX.length()) {
            return new RateLimitKey(KeyPart.HEADER, text.substring(HEADER_PREFIX.length()));
        }
        if (text.startsWith(RateLimitProperties.CLAIM) && text.length() > RateLimitProperties.CLAIM.length()) {
            return new RateLimitKey(KeyPart.CLAIM, text.substring(RateLimitProperties.CLAIM.length()));
        }
        throw new IllegalArgumentException("key: " + text + " (expected: " + EXPECTED + ")");
    }

    /**
     * The key of a request.
     *
     * @param head the request's head as received
     * @param clientNetwork the caller's address, or of an IPv6 address its network; asked only if it is
     *     the key
     * @param callerByClaim the caller as a claim of its verified token names it; null: the token has no such
     *     claim; asked only if it is the key
     */
    String of(HttpHeaders head, Supplier<String> clientNetwork, Function<String, @Nullable String> callerByClaim) {
        return switch (part) {
            case ADDRESS -> clientNetwork.get();
            case ROUTE -> SHARED;
            case HEADER -> value(head, name);
            case CLAIM -> {
                String caller = callerByClaim.apply(name);
                yield caller == null ? SHARED : bounded(caller);
            }
        };
    }

    /**
     * The key of a request in a counter outside of the gateway. Header values may be secrets of callers, and
     * claims may be personal, so they leave the gateway as SHA-256 only.
     *
     * @param key the result of {@link #of}
     */
    String outside(String key) {
        return part == KeyPart.ADDRESS || key.equals(SHARED) ? key : digest(key);
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
        return bounded(value);
    }

    private static String bounded(String value) {
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
