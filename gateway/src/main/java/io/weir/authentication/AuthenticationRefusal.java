package io.weir.authentication;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The refusal of a request whose proof of identity is missing, invalid or not sufficient.
 *
 * @param isForbidden true: {@code forbidden} (403), the proof is valid, but not sufficient; false: {@code
 *     unauthorized} (401)
 * @param detail the cause, for the caller and the access log
 * @param challenge the value of {@code WWW-Authenticate} (RFC 6750, section 3); null: none, since no token
 *     would help
 */
public record AuthenticationRefusal(
        boolean isForbidden, String detail, @Nullable String challenge) implements TokenVerdict {

    /** The request has no bearer token. RFC 6750, section 3.1: then the challenge names no error. */
    static final AuthenticationRefusal MISSING =
            new AuthenticationRefusal(false, "no bearer token (expected: Authorization: Bearer)", "Bearer");

    /**
     * The keys of the token's issuer are not known. The token may be valid, so the challenge names no error:
     * after {@code invalid_token} a caller would throw it away.
     */
    static final AuthenticationRefusal KEYS_UNKNOWN =
            new AuthenticationRefusal(false, "the keys of the token's issuer are not known", "Bearer");

    /** The edge has seen no client certificate. */
    static final AuthenticationRefusal NO_CERTIFICATE = new AuthenticationRefusal(true, "no client certificate", null);

    private static final int MAX_NAME_CHARS = 200;

    /**
     * The certificate is none of those that the route accepts. The caller and the access log learn its name,
     * to tell which of a caller's certificates it is.
     */
    static AuthenticationRefusal notAccepted(ClientCertificate certificate) {
        String name = certificate.name();
        return new AuthenticationRefusal(
                true,
                "the route does not accept the client certificate "
                        + name.substring(0, Math.min(name.length(), MAX_NAME_CHARS)),
                null);
    }

    /** The token is malformed, expired, or not to be trusted. */
    static AuthenticationRefusal invalid(String why) {
        String text = quotable(why);
        return new AuthenticationRefusal(
                false, text, "Bearer error=\"invalid_token\", error_description=\"" + text + '"');
    }

    /** The token lacks a scope of the route. */
    static AuthenticationRefusal withoutScopes(List<String> required, String missing) {
        return new AuthenticationRefusal(
                true,
                "the token lacks the scope " + missing,
                "Bearer error=\"insufficient_scope\", scope=\"" + String.join(" ", required) + '"');
    }

    /** The token lacks a claim of the route. */
    static AuthenticationRefusal withoutClaim(String name) {
        String text = quotable("the token's claim " + name + " does not allow it");
        return new AuthenticationRefusal(
                true, text, "Bearer error=\"insufficient_scope\", error_description=\"" + text + '"');
    }

    /** The token has no identity, so a backend would take the caller for an anonymous one. */
    static AuthenticationRefusal withoutIdentity() {
        return withoutClaim("of the identity");
    }

    /** The text in the characters that {@code error_description} allows (RFC 6750, section 3). */
    private static String quotable(String text) {
        StringBuilder allowed = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            allowed.append(c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c);
        }
        return allowed.toString();
    }
}
