package io.weir.authentication;

import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.util.Base64URL;
import com.nimbusds.jwt.SignedJWT;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.AsciiString;
import java.text.ParseException;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The proof of identity that a route requires. Immutable. */
public final class AuthenticationRule {

    /** Proxies with the usual limits let no longer header field pass. */
    static final int MAX_TOKEN_CHARS = 8192;

    private final boolean needsCertificate;
    /** One of them must match; empty: any certificate will do. */
    private final List<CertificatePattern> certificates;

    private final List<Issuer> issuers;
    private final List<String> scopes;
    private final List<RequiredClaim> claims;
    private final @Nullable AsciiString identityHeader;

    private record RequiredClaim(String name, String value) {

        static RequiredClaim parse(String text) {
            int equals = text.indexOf('=');
            if (equals <= 0) {
                throw new IllegalArgumentException("authentication.claims: " + text + " (expected: NAME=VALUE)");
            }
            return new RequiredClaim(text.substring(0, equals), text.substring(equals + 1));
        }
    }

    /**
     * The rule of a route.
     *
     * @param issuers the issuers that the route accepts, in force
     * @param identityHeader the field for the caller's identity; null: none
     * @throws IllegalArgumentException if a claim or a pattern of certificates is malformed
     */
    public AuthenticationRule(
            RouteAuthenticationProperties properties, List<Issuer> issuers, @Nullable String identityHeader) {
        this.needsCertificate = properties.clientCertificate();
        this.certificates = properties.certificates().stream()
                .map(CertificatePattern::parse)
                .toList();
        this.issuers = List.copyOf(issuers);
        this.scopes = properties.scopes();
        this.claims = properties.claims().stream().map(RequiredClaim::parse).toList();
        this.identityHeader =
                identityHeader == null ? null : AsciiString.cached(identityHeader.toLowerCase(Locale.ROOT));
    }

    /** Whether the caller must have shown a client certificate. */
    public boolean needsCertificate() {
        return needsCertificate;
    }

    /**
     * The refusal of the caller's client certificate; null: it is accepted. Called only if the route needs
     * one.
     *
     * @param shown the certificate that the edge trusts; null: none was shown
     */
    public @Nullable AuthenticationRefusal checkCertificate(@Nullable ClientCertificate shown) {
        if (shown == null) {
            return AuthenticationRefusal.NO_CERTIFICATE;
        }
        if (certificates.isEmpty()) {
            return null;
        }
        for (CertificatePattern accepted : certificates) {
            if (accepted.matches(shown)) {
                return null;
            }
        }
        return AuthenticationRefusal.notAccepted(shown);
    }

    /** Whether the request must have a token. */
    public boolean needsToken() {
        return !issuers.isEmpty();
    }

    /** Judges the token of a request. Called only if the route needs one. */
    public TokenVerdict check(HttpHeaders head) {
        String token = BearerToken.of(head);
        if (token == null) {
            return AuthenticationRefusal.MISSING;
        }
        for (Issuer issuer : issuers) {
            VerifiedToken known = issuer.findVerified(token);
            if (known != null) {
                return checkClaims(known);
            }
        }
        TokenVerdict verdict = verify(token);
        return verdict instanceof VerifiedToken verified ? checkClaims(verified) : verdict;
    }

    private TokenVerdict verify(String token) {
        if (token.equals(BearerToken.REPEATED)) {
            return AuthenticationRefusal.invalid("more than one Authorization field");
        }
        if (token.length() > MAX_TOKEN_CHARS) {
            return AuthenticationRefusal.invalid("longer than " + MAX_TOKEN_CHARS + " characters");
        }
        JWSHeader header;
        String iss;
        try {
            SignedJWT parsed = SignedJWT.parse(token);
            header = parsed.getHeader();
            iss = parsed.getJWTClaimsSet().getIssuer();
        } catch (ParseException | RuntimeException e) {
            // The parser fails in several ways: the header null is a NullPointerException.
            return AuthenticationRefusal.invalid("not a signed JSON web token");
        }
        if (!hasOneSpelling(token)) {
            return AuthenticationRefusal.invalid("signature not in base64url");
        }
        TokenVerdict verdict = null;
        for (Issuer issuer : issuers) {
            // The same issuer may be configured twice, such as for two audiences.
            if (issuer.isIssuerOf(iss) && !(verdict instanceof VerifiedToken)) {
                TokenVerdict next = issuer.verify(token, header.getKeyID());
                verdict = verdict instanceof KeysAwaited && !(next instanceof VerifiedToken) ? verdict : next;
            }
        }
        return verdict == null ? AuthenticationRefusal.invalid("of an issuer that the route does not accept") : verdict;
    }

    /**
     * Whether the signature is spelt as RFC 7515 says. The decoder skips other characters and unused bits, so
     * that one token would have any number of spellings, and a list of revoked tokens would miss it. The
     * signature covers the spelling of the other parts.
     */
    private static boolean hasOneSpelling(String token) {
        String signature = token.substring(token.lastIndexOf('.') + 1);
        return Base64URL.encode(new Base64URL(signature).decode()).toString().equals(signature);
    }

    private TokenVerdict checkClaims(VerifiedToken token) {
        for (String scope : scopes) {
            if (!token.hasScope(scope)) {
                return AuthenticationRefusal.withoutScopes(scopes, scope);
            }
        }
        for (RequiredClaim claim : claims) {
            if (!token.hasClaim(claim.name, claim.value)) {
                return AuthenticationRefusal.withoutClaim(claim.name);
            }
        }
        if (identityHeader != null && token.identity() == null) {
            return AuthenticationRefusal.withoutIdentity();
        }
        return token;
    }

    /** Writes the identity of a token that this rule has accepted into the head for the backend. */
    public void writeIdentity(VerifiedToken token, HttpHeaders toBackend) {
        AsciiString name = identityHeader;
        String identity = token.identity();
        if (name != null && identity != null) {
            toBackend.set(name, identity);
        }
    }
}
