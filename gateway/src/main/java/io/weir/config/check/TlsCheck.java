package io.weir.config.check;

import io.weir.config.WeirProperties;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.EdgeProperties;
import io.weir.edge.TlsEngine;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.web.server.Ssl;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.env.Environment;

/**
 * Checks the engine of TLS, the redirect to https, and the names of virtual hosts with a certificate of their
 * own.
 */
final class TlsCheck {

    private static final String SSL = "server.ssl";
    private static final String SERVER_NAMES = SSL + ".server-name-bundles";
    private static final Pattern SERVER_NAME = Pattern.compile(".*\\.server-?name", Pattern.CASE_INSENSITIVE);
    private static final Pattern HOST_NAME =
            Pattern.compile("[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*");
    /** The ports of other servers, and their defaults. */
    private static final Map<String, Integer> PORTS = Map.of("server.port", 8080, "management.server.port", 0);

    private final Environment environment;
    private final RawTree root;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    TlsCheck(
            Environment environment,
            RawTree root,
            Section<WeirProperties> weir,
            Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.root = root;
        this.weir = weir;
        this.problems = problems;
    }

    void check() {
        Section<EdgeProperties> edge = weir.in(WeirProperties::edge);
        edge.explicit(EdgeProperties::tlsEngine)
                .filter(entry -> entry.value() == TlsEngine.OPENSSL)
                .ifPresent(this::checkLibrary);
        Entry port = edge.explicit(EdgeProperties::redirectPort).orElse(null);
        if (port == null) {
            edge.explicit(EdgeProperties::redirectToPort)
                    .ifPresent(entry -> report(
                            entry, "also " + edge.pathOf(EdgeProperties::redirectPort) + ", the port that redirects"));
        } else {
            checkRedirect(port);
        }
        RawTree.at(root, SERVER_NAMES).stream()
                .flatMap(RawTree::leaves)
                .filter(leaf -> SERVER_NAME.matcher(leaf.path()).matches())
                .flatMap(leaf -> RawTree.effective(List.of(leaf)).stream())
                .forEach(this::checkServerName);
    }

    private void checkLibrary(Entry engine) {
        String failure = TlsEngine.loadFailure();
        if (failure != null) {
            report(engine, "auto or jdk, since the library of BoringSSL does not load: " + failure);
        }
    }

    private void checkRedirect(Entry port) {
        if (!hasTls()) {
            report(port, "also " + SSL + ", since without TLS there is nothing to redirect to");
        }
        PORTS.forEach((property, byDefault) -> {
            int other;
            try {
                other = environment.getProperty(property, Integer.class, byDefault);
            } catch (ConversionException e) {
                // Another check reports it.
                return;
            }
            if (other > 0 && port.value().equals(other)) {
                report(port, "another port than " + property);
            }
        });
    }

    private boolean hasTls() {
        try {
            return Binder.get(environment)
                    .bind(SSL, Ssl.class)
                    .map(ssl -> Ssl.isEnabled(ssl))
                    .orElse(false);
        } catch (BindException e) {
            // Spring Boot reports the property that does not convert.
            return true;
        }
    }

    /** Spring Boot compares the names to those of handshakes, in lower case and without wildcards. */
    private void checkServerName(Setting setting) {
        String name = environment.resolvePlaceholders(setting.text());
        if (!HOST_NAME.matcher(name).matches()) {
            boolean isUpperCase =
                    HOST_NAME.matcher(name.toLowerCase(Locale.ROOT)).matches();
            problems.accept(setting.expected(
                    isUpperCase
                            ? "lower case, as in a handshake"
                            : "the name of one host, without a wildcard or port"));
        }
    }

    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(expected));
    }
}
