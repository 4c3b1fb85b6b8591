package io.weir.authentication;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A token whose signature, issuer, audience and times were found valid. Immutable.
 *
 * <p>The claims may be those of any version of the token's format: {@code scope} is a list of words in one
 * text (RFC 8693), {@code scp} is a list.
 */
public final class VerifiedToken implements TokenVerdict {

    private static final HexFormat HEX = HexFormat.of().withUpperCase();

    private final String issuer;
    private final Map<String, Object> claims;
    private final Set<String> scopes;
    private final @Nullable String identity;
    private final long expiresAtMillis;

    /**
     * A token.
     *
     * @param issuer the issuer's name in the configuration
     * @param claims its claims
     * @param identityClaim the claim that names the caller
     * @param expiresAtMillis the end of its validity, including the tolerated difference of the clocks
     */
    VerifiedToken(String issuer, Map<String, Object> claims, String identityClaim, long expiresAtMillis) {
        this.issuer = issuer;
        Map<String, Object> present = new HashMap<>(claims);
        // A claim that is null in JSON says no more than a missing one.
        present.values().removeIf(Objects::isNull);
        this.claims = Map.copyOf(present);
        this.scopes = scopes(this.claims);
        String name = text(identityClaim);
        this.identity = name == null ? null : fieldValue(name);
        this.expiresAtMillis = expiresAtMillis;
    }

    private static Set<String> scopes(Map<String, Object> claims) {
        Object scope = claims.containsKey("scope") ? claims.get("scope") : claims.get("scp");
        return switch (scope) {
            case String words -> Set.copyOf(Arrays.asList(words.split(" ", -1)));
            case Collection<?> words -> words.stream().map(String::valueOf).collect(Collectors.toUnmodifiableSet());
            case null, default -> Set.of();
        };
    }

    /** The issuer's name in the configuration. */
    public String issuer() {
        return issuer;
    }

    /**
     * The caller's identity as a field value: the text of the issuer's {@code identity-claim}, with a percent
     * sign and each byte of UTF-8 that is not a visible character of ASCII as {@code %XX}. Null: the token
     * has no such claim.
     */
    public @Nullable String identity() {
        return identity;
    }

    /**
     * The caller as a claim names it: the claim's text, a space, and the token's {@code iss}, since two
     * issuers may know callers of the same name. Null: the token has no such claim, or it is empty, a list or
     * an object.
     *
     * @param claim the claim's name; a dot leads to a nested claim
     */
    public @Nullable String callerBy(String claim) {
        String name = text(claim);
        return name == null || name.isEmpty() ? null : name + ' ' + claims.get("iss");
    }

    /** The text of a claim; null: there is none, or it is a list or an object. */
    private @Nullable String text(String claim) {
        Object value = value(claims, claim);
        return value == null || value instanceof Collection || value instanceof Map ? null : String.valueOf(value);
    }

    boolean isExpired(long nowMillis) {
        return nowMillis >= expiresAtMillis;
    }

    boolean hasScope(String scope) {
        return scopes.contains(scope);
    }

    /** Whether a claim has a value, or is a list that contains it. */
    boolean hasClaim(String name, String value) {
        return switch (value(claims, name)) {
            case Collection<?> values -> values.stream().anyMatch(one -> value.equals(String.valueOf(one)));
            case null -> false;
            case Object one -> value.equals(String.valueOf(one));
        };
    }

    /** The claim of this name, else the claim that the name's dots lead to; null: there is none. */
    private static @Nullable Object value(Map<?, ?> claims, String name) {
        if (claims.containsKey(name)) {
            return claims.get(name);
        }
        for (int dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
            if (claims.get(name.substring(0, dot)) instanceof Map<?, ?> nested) {
                Object value = value(nested, name.substring(dot + 1));
                if (value != null) {
                    return value;
                }
            }
        }
        return null;
    }

    private static String fieldValue(String text) {
        if (text.chars().allMatch(c -> c > ' ' && c <= '~' && c != '%')) {
            return text;
        }
        StringBuilder encoded = new StringBuilder(text.length() + 16);
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            if (b > ' ' && b <= '~' && b != '%') {
                encoded.append((char) b);
            } else {
                HEX.toHexDigits(encoded.append('%'), b);
            }
        }
        return encoded.toString();
    }
}
