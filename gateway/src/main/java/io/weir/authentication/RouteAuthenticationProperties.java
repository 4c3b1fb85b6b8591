package io.weir.authentication;

import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.util.List;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.routes.<id>.authentication}: the proof of identity that a route requires from its callers. None
 * unless configured. A request without it is refused with {@code unauthorized} (401); one whose proof is
 * valid, but not sufficient for the route, with {@code forbidden} (403).
 *
 * @param issuers names of {@code weir.authentication.issuers}, one of which must have issued the bearer token
 *     of the request; up to 100; default: no token is required.
 * @param scopes scopes that the token must have, all of them: words of its claim "scope", or elements of its
 *     claim "scp"; up to 100; default: none.
 * @param claims claims that the token must have, all of them, as {@code NAME=VALUE}; a list must contain the
 *     value; a dot leads to a nested claim ({@code realm_access.roles=admin}); up to 100; default: none.
 * @param clientCertificate whether the caller must have shown a client certificate that the edge trusts; the
 *     edge asks for one if {@code server.ssl.client-auth} is {@code want} or {@code need}.
 * @param certificates patterns of the client certificates that may use the route, one of which must match:
 *     {@code dns:NAME} and {@code uri:URI} (such as a SPIFFE ID) of the subject alternative names,
 *     {@code subject:DN} as RFC 4514 has it; each with at most one {@code *}, for one or more characters: no
 *     dot of a DNS name, no slash within a URI, one attribute of a subject; up to 100; default: every
 *     certificate that the edge trusts. Others are refused with {@code forbidden} (403).
 */
public record RouteAuthenticationProperties(
        @DefaultValue @Size(max = 100) List<String> issuers,

        @DefaultValue @Size(max = 100)
        List<@Pattern(regexp = "[!#-\\[\\]-~]+", message = "a scope without spaces") String> scopes,

        @DefaultValue @Size(max = 100) List<@Pattern(regexp = "[^\\s=]+=.+", message = "NAME=VALUE") String> claims,
        @DefaultValue("false") boolean clientCertificate,

        @DefaultValue @Size(max = 100)
        List<@Pattern(regexp = CertificatePattern.FORM, message = CertificatePattern.EXPECTED) String> certificates) {

    /** Copies the lists. */
    public RouteAuthenticationProperties {
        issuers = List.copyOf(issuers);
        scopes = List.copyOf(scopes);
        claims = List.copyOf(claims);
        certificates = List.copyOf(certificates);
    }
}
