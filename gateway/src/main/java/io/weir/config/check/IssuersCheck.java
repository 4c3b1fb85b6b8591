package io.weir.config.check;

import io.weir.authentication.AuthenticationProperties;
import io.weir.authentication.CertificatePattern;
import io.weir.authentication.IssuerProperties;
import io.weir.authentication.RouteAuthenticationProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.ValidValues.Entry;
import io.weir.ratelimit.MaxConcurrentPerKeyProperties;
import io.weir.ratelimit.RateLimitProperties;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.springframework.core.env.Environment;

/** Checks the issuers of tokens, and the routes that require a proof of identity. */
final class IssuersCheck {

    private static final String ISSUERS = "weir.authentication.issuers";
    private static final String HTTP_URI = "a URI such as https://id.example/keys";

    /** Fields that the gateway or the protocol needs for something else. */
    private static final Set<String> USED_FIELDS = Set.of(
            "authorization",
            "client-cert",
            "client-cert-chain",
            "connection",
            "content-length",
            "content-type",
            "cookie",
            "expect",
            "forwarded",
            "grpc-timeout",
            "host",
            "keep-alive",
            "proxy-authorization",
            "te",
            "traceparent",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "via",
            "x-request-id",
            "x-request-timeout");

    private final Environment environment;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    IssuersCheck(Environment environment, Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.weir = weir;
        this.problems = problems;
    }

    /** Checks all issuers, and all routes that refer to them. */
    void check() {
        Section<AuthenticationProperties> authentication = weir.in(WeirProperties::authentication);
        authentication
                .explicit(AuthenticationProperties::identityHeader)
                .filter(entry -> isUsed(String.valueOf(entry.value()).toLowerCase(Locale.ROOT)))
                .ifPresent(entry -> report(entry, "a field that has no other meaning"));
        Set<String> issuers =
                authentication.names(AuthenticationProperties::issuers).keySet();
        authentication.each(AuthenticationProperties::issuers).forEach(issuer -> checkIssuer(issuer.getValue()));
        weir.each(WeirProperties::routes).map(Map.Entry::getValue).forEach(route -> {
            checkRoute(route.in(RouteProperties::authentication), issuers);
            checkKeys(route);
        });
    }

    /** Only a verified token has claims: a caller could choose any others. */
    private void checkKeys(Section<RouteProperties> route) {
        Stream.of(
                        route.in(RouteProperties::rateLimit).explicit(RateLimitProperties::key),
                        route.in(RouteProperties::maxConcurrentPerKey).explicit(MaxConcurrentPerKeyProperties::key))
                .flatMap(Optional::stream)
                .filter(key ->
                        String.valueOf(key.value()).startsWith(RateLimitProperties.CLAIM) && !requiresToken(route))
                .forEach(key -> report(
                        key,
                        "also " + route.path() + ".authentication.issuers, since only a verified token has claims"));
    }

    /** Whether a route accepts only requests with a token. */
    static boolean requiresToken(Section<RouteProperties> route) {
        return route.in(RouteProperties::authentication)
                .value(RouteAuthenticationProperties::issuers)
                .filter(issuers -> !issuers.isEmpty())
                .isPresent();
    }

    /** Whether the gateway or the protocol needs a field, in lower case, for something else. */
    static boolean isUsed(String field) {
        return USED_FIELDS.contains(field) || field.startsWith("x-forwarded-");
    }

    private void checkIssuer(Section<IssuerProperties> issuer) {
        // An empty list accepts any audience, like a missing one, but reads as if it accepted none.
        issuer.explicit(IssuerProperties::audiences)
                .filter(entry -> entry.value().equals(List.of()))
                .ifPresent(entry -> report(entry, "at least one audience, or no list, which accepts any"));
        Entry jwkSetUri = issuer.explicit(IssuerProperties::jwkSetUri).orElse(null);
        if (jwkSetUri != null) {
            if (!(jwkSetUri.value() instanceof URI uri) || !isHttp(uri)) {
                report(jwkSetUri, HTTP_URI);
            }
            return;
        }
        issuer.explicit(IssuerProperties::issuer)
                .filter(entry -> !isHttp(String.valueOf(entry.value())))
                .ifPresent(entry -> report(entry, HTTP_URI + ", or a jwk-set-uri beside it"));
    }

    private static boolean isHttp(String text) {
        try {
            return isHttp(URI.create(text));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static boolean isHttp(URI uri) {
        return ("http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme()))
                && uri.getHost() != null
                && uri.getRawUserInfo() == null;
    }

    private void checkRoute(Section<RouteAuthenticationProperties> authentication, Set<String> issuers) {
        Entry named = authentication.get(RouteAuthenticationProperties::issuers).orElse(null);
        if (named == null || !(named.value() instanceof List<?> names)) {
            return;
        }
        for (Object one : names) {
            String name = String.valueOf(one);
            if (!issuers.contains(name)) {
                problems.accept(named.problem(
                        name, "unknown issuer; expected: a name of " + ISSUERS, PropertyNames.nearest(name, issuers)));
            }
        }
        Entry certificate = authentication
                .get(RouteAuthenticationProperties::clientCertificate)
                .orElse(null);
        boolean needsCertificate = certificate != null && Boolean.TRUE.equals(certificate.value());
        if (names.isEmpty()) {
            if (!needsCertificate) {
                problems.accept(ConfigurationProblem.of(
                        named.location(),
                        authentication.path(),
                        null,
                        "requires nothing; expected: issuers, or client-certificate: true"));
            }
            Stream.of(
                            authentication.explicit(RouteAuthenticationProperties::scopes),
                            authentication.explicit(RouteAuthenticationProperties::claims))
                    .flatMap(Optional::stream)
                    .filter(entry -> !entry.value().equals(List.of()))
                    .forEach(entry -> report(entry, "also issuers, since a token is required for it"));
        }
        authentication
                .explicit(RouteAuthenticationProperties::certificates)
                .ifPresent(entry -> checkCertificates(entry, needsCertificate));
        if (certificate != null && needsCertificate && !asksForCertificates()) {
            report(certificate, "also server.ssl.client-auth: want or need, since the edge asks for no certificate");
        }
    }

    private void checkCertificates(Entry entry, boolean needsCertificate) {
        if (!(entry.value() instanceof List<?> patterns)) {
            return;
        }
        if (patterns.isEmpty()) {
            if (needsCertificate) {
                report(entry, "at least one pattern, or no list, which accepts every certificate that the edge trusts");
            }
            return;
        }
        if (!needsCertificate) {
            report(entry, "also client-certificate: true, since a certificate is required for it");
        }
        for (Object one : patterns) {
            String pattern = String.valueOf(one);
            try {
                CertificatePattern.parse(pattern);
            } catch (IllegalArgumentException e) {
                problems.accept(entry.expected(pattern, CertificatePattern.EXPECTED));
            }
        }
    }

    private boolean asksForCertificates() {
        String asked = environment.getProperty("server.ssl.client-auth", "none").toLowerCase(Locale.ROOT);
        return asked.equals("want") || asked.equals("need");
    }

    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(expected));
    }
}
