package io.weir.authentication;

import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Pattern;
import jakarta.validation.constraints.Size;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationPropertiesSource;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * {@code weir.authentication.issuers.<name>}: an issuer of JSON web tokens (RFC 7519), whose keys the gateway
 * fetches.
 *
 * @param issuer the claim {@code iss} of the issuer's tokens, compared exactly; without {@code jwk-set-uri}
 *     also the URI whose {@code /.well-known/openid-configuration} names the set of keys; 1 to 1000
 *     characters. Required.
 * @param jwkSetUri URI of the issuer's set of keys (JWK set, RFC 7517), {@code http://} or {@code https://};
 *     default: the one that the issuer's own configuration names.
 * @param audiences a token must have one of them in its claim {@code aud}; up to 100; default: any audience.
 * @param clockSkew tolerated difference between the clocks of gateway and issuer; 0 to 10m.
 * @param identityClaim the claim that {@code identity-header} passes on; a dot leads to a nested claim; 1 to
 *     100 characters.
 * @param refreshInterval time between two fetches of the keys, in the background; 1s to 1d. A key that the
 *     issuer withdraws is accepted for that time at most, if the issuer is reachable.
 * @param unknownKeyInterval smallest time between the end of a fetch and another one that a token with an
 *     unknown key, or without any known keys, causes; 1s to 1h. Invented keys cause no more fetches than
 *     that.
 * @param fetchTimeout time for each answer of the issuer; 100ms to 1m. Requests with an unknown key wait for
 *     the fetch, but not beyond their deadline.
 */
@ConfigurationPropertiesSource
public record IssuerProperties(
        @NotNull @Size(min = 1, max = 1000) String issuer,
        @Nullable URI jwkSetUri,
        @DefaultValue @Size(max = 100) List<String> audiences,

        @DefaultValue("1m") @DurationMin(millis = 0) @DurationMax(minutes = 10)
        Duration clockSkew,

        @DefaultValue("sub") @Size(min = 1, max = 100) @Pattern(regexp = "[^\\s=]+", message = "the name of a claim")
        String identityClaim,

        @DefaultValue("5m") @DurationMin(seconds = 1) @DurationMax(days = 1)
        Duration refreshInterval,

        @DefaultValue("10s") @DurationMin(seconds = 1) @DurationMax(hours = 1)
        Duration unknownKeyInterval,

        @DefaultValue("5s") @DurationMin(millis = 100) @DurationMax(minutes = 1)
        Duration fetchTimeout) {

    /** Copies the audiences. */
    public IssuerProperties {
        audiences = List.copyOf(audiences);
    }

    /** Whether another version of the issuer fetches the same keys in the same intervals. */
    boolean hasSameKeySource(IssuerProperties other) {
        return issuer.equals(other.issuer)
                && Objects.equals(jwkSetUri, other.jwkSetUri)
                && refreshInterval.equals(other.refreshInterval)
                && unknownKeyInterval.equals(other.unknownKeyInterval)
                && fetchTimeout.equals(other.fetchTimeout);
    }
}
