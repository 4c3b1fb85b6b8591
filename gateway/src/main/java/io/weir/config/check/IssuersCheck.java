package io.weir.config.check;

import io.weir.authentication.CertificatePattern;
import io.weir.config.check.ValidValues.Entry;
import io.weir.ratelimit.RateLimitProperties;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import org.springframework.core.env.Environment;

/** Checks the issuers of tokens, and the routes that require a proof of identity. */
final class IssuersCheck {

    private static final String AUTHENTICATION = "weir.authentication";
    private static final String ISSUERS = AUTHENTICATION + ".issuers";
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
    private final ValidValues validValues;
    private final Consumer<ConfigurationProblem> problems;

    IssuersCheck(Environment environment, ValidValues validValues, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.validValues = validValues;
        this.problems = problems;
    }

    /** Checks all issuers, and all routes that refer to them. */
    void check() {
        validValues
                .explicit(AUTHENTICATION + ".identity-header")
                .filter(entry -> isUsed(String.valueOf(entry.value()).toLowerCase(Locale.ROOT)))
                .ifPresent(entry -> report(entry, "a field that has no other meaning"));
        Set<String> issuers = validValues.names(ISSUERS).keySet();
        issuers.forEach(name -> checkIssuer(ISSUERS + '.' + name));
        validValues.names("weir.routes").forEach((id, location) -> {
            checkRoute("weir.routes." + id + ".authentication", issuers);
            checkKeys("weir.routes." + id);
        });
    }

    /** Only a verified token has claims: a caller could choose any others. */
    private void checkKeys(String route) {
        for (String limit : List.of(".rate-limit", ".max-concurrent-per-key")) {
            validValues
                    .explicit(route + limit + ".key")
                    .filter(key -> String.valueOf(key.value()).startsWith(RateLimitProperties.CLAIM)
                            && !requiresToken(validValues, route))
                    .ifPresent(key -> report(
                            key, "also " + route + ".authentication.issuers, since only a verified token has claims"));
        }
    }

    /** Whether a route accepts only requests with a token. */
    static boolean requiresToken(ValidValues validValues, String route) {
        return validValues
                .get(route + ".authentication.issuers")
                .filter(entry -> entry.value() instanceof List<?> issuers && !issuers.isEmpty())
                .isPresent();
    }

    private static boolean isUsed(String field) {
        return USED_FIELDS.contains(field) || field.startsWith("x-forwarded-");
    }

    private void checkIssuer(String issuer) {
        // An empty list accepts any audience, like a missing one, but reads as if it accepted none.
        validValues
                .explicit(issuer + ".audiences")
                .filter(entry -> entry.value() instanceof List<?> audiences && audiences.isEmpty())
                .ifPresent(entry -> report(entry, "at least one audience, or no list, which accepts any"));
        Entry jwkSetUri = validValues.explicit(issuer + ".jwk-set-uri").orElse(null);
        if (jwkSetUri != null) {
            if (!(jwkSetUri.value() instanceof URI uri) || !isHttp(uri)) {
                report(jwkSetUri, HTTP_URI);
            }
            return;
        }
        validValues
                .explicit(issuer + ".issuer")
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

    private void checkRoute(String authentication, Set<String> issuers) {
        Entry named = validValues.get(authentication + ".issuers").orElse(null);
        if (named == null || !(named.value() instanceof List<?> names)) {
            return;
        }
        for (Object one : names) {
            String name = String.valueOf(one);
            if (!issuers.contains(name)) {
                problems.accept(named.problem(name, "unknown issuer; expected: a name of " + ISSUERS, PropertyNames.nearest(name, issuers)));
            }
        }
        Entry certificate =
                validValues.get(authentication + ".client-certificate").orElse(null);
        boolean needsCertificate = certificate != null && Boolean.TRUE.equals(certificate.value());
        if (names.isEmpty()) {
            if (!needsCertificate) {
                problems.accept(ConfigurationProblem.of(
                        named.location(),
                        authentication,
                        null,
                        "requires nothing; expected: issuers, or client-certificate: true"));
            }
            for (String part : List.of("scopes", "claims")) {
                validValues
                        .explicit(authentication + '.' + part)
                        .filter(entry -> entry.value() instanceof List<?> list && !list.isEmpty())
                        .ifPresent(entry -> report(entry, "also issuers, since a token is required for it"));
            }
        }
        validValues
                .explicit(authentication + ".certificates")
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
