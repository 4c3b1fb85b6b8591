package io.weir.authentication;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Pattern;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.authentication}: the issuers of tokens, and the fields that tell backends the identity of the
 * caller. Routes name the issuers that they require in {@code weir.routes.<id>.authentication}.
 *
 * @param issuers the issuers whose tokens routes can require, by name.
 * @param identityHeader header field in which backends receive the verified identity of the caller; removed
 *     from the requests and trailers of all callers on all routes, in every spelling ({@code X_Identity} is a
 *     spelling of {@code X-Identity}); default: none.
 * @param clientCertificate the fields in which backends receive the caller's TLS client certificate (RFC
 *     9440); {@code none}; {@code leaf}: {@code Client-Cert}; {@code chain}: {@code Client-Cert-Chain}, too.
 *     Unless none, both fields are removed from the requests of all callers on all routes.
 */
public record AuthenticationProperties(
        @DefaultValue Map<String, @Valid IssuerProperties> issuers,

        @Nullable @Pattern(regexp = "[!#$%&'*+.^_`|~0-9A-Za-z-]+", message = "the name of a header field")
        String identityHeader,

        @DefaultValue("none") ClientCertificateMode clientCertificate) {

    /** Copies the issuers. */
    public AuthenticationProperties {
        issuers = Map.copyOf(issuers);
    }

    /** No issuers, and no fields. */
    public static AuthenticationProperties none() {
        return new AuthenticationProperties(Map.of(), null, ClientCertificateMode.NONE);
    }
}
