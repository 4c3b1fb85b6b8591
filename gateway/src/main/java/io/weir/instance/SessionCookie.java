package io.weir.instance;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.cookie.Cookie;
import io.netty.handler.codec.http.cookie.ServerCookieDecoder;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntSupplier;

/**
 * A cookie that keeps a caller with the instance that has answered it. Its value is a random number, and a
 * hash of this number and the instance's address. So all gateways, and a restarted one, agree without a list
 * of sessions; an instance that is added moves no caller; and the value does not show an address. The value
 * is no secret: a caller can choose an instance, by a value that it makes up.
 *
 * <p>Rejected alternative: a random value that a hash ring leads to the instance. Each instance that is added
 * takes its share of the callers from the others, whose sessions it does not know.
 */
final class SessionCookie {

    /** No instance. */
    static final int NONE = -1;

    private static final int VALUE_CHARS = 16;
    private static final HexFormat HEX = HexFormat.of();

    private final String name;
    private final String attributes;
    private final long[] hashes;
    private final IntSupplier random;

    /** A cookie for the instances with these addresses. */
    SessionCookie(SessionCookieProperties properties, List<String> addresses) {
        this(properties, addresses, () -> ThreadLocalRandom.current().nextInt());
    }

    SessionCookie(SessionCookieProperties properties, List<String> addresses, IntSupplier random) {
        this.name = properties.name();
        this.attributes = "; Path=/"
                + (properties.maxAge() == null
                        ? ""
                        : "; Max-Age=" + properties.maxAge().toSeconds())
                + "; HttpOnly; SameSite=Lax";
        this.hashes = addresses.stream().mapToLong(HashKey::hash).toArray();
        this.random = random;
    }

    /** The index of the cookie's instance; {@link #NONE}: there is no cookie, or the instance has left. */
    int instance(HttpHeaders request) {
        for (String field : request.getAll(HttpHeaderNames.COOKIE)) {
            for (Cookie cookie : ServerCookieDecoder.LAX.decode(field)) {
                if (cookie.name().equals(name)) {
                    return instance(cookie.value());
                }
            }
        }
        return NONE;
    }

    private int instance(String value) {
        if (value.length() == VALUE_CHARS && value.chars().allMatch(HexFormat::isHexDigit)) {
            long number = HexFormat.fromHexDigitsToLong(value);
            for (int i = 0; i < hashes.length; i++) {
                if ((int) number == mark((int) (number >>> Integer.SIZE), i)) {
                    return i;
                }
            }
        }
        return NONE;
    }

    private int mark(int salt, int instance) {
        return (int) HashKey.mix(hashes[instance] ^ ((long) salt << Integer.SIZE));
    }

    /** Adds the cookie of an instance to an answer. */
    void add(HttpHeaders answer, int instance, boolean isSecure) {
        int salt = random.getAsInt();
        String value = HEX.toHexDigits(salt) + HEX.toHexDigits(mark(salt, instance));
        answer.add(HttpHeaderNames.SET_COOKIE, name + '=' + value + attributes + (isSecure ? "; Secure" : ""));
    }
}
