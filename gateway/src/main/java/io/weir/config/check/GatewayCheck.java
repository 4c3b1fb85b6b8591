package io.weir.config.check;

import io.weir.cluster.ClusterProperties;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.TrustedProxies;
import io.weir.management.ManagementPort;
import io.weir.management.ManagementProperties;
import java.net.InetAddress;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.env.Environment;

/** Checks what cannot be said of the gateway as a whole by constraints. */
final class GatewayCheck {

    private static final String TRUSTED_PROXIES = "weir.edge.trusted-proxies";
    private static final String DNS_SERVER = "weir.cluster.dns-server";
    private static final String TOKEN = "weir.management.token";
    private static final String MANAGEMENT_PORT = "management.server.port";
    private static final String MANAGEMENT_ADDRESS = "management.server.address";
    private static final String SERVER_PORT = "server.port";
    private static final int DEFAULT_SERVER_PORT = 8080;
    /** What Spring Boot reads at a start, and ends it with a stack trace, or takes for a text. Routes and filters may mean such a text. */
    private static final Pattern READ_AT_STARTUP = Pattern.compile(
            "(spring\\.(?!cloud\\.gateway\\.server\\.webflux\\.(routes|default-?filters)|config\\.)|server\\.|management\\.server\\.).*",
            Pattern.CASE_INSENSITIVE);
    /** How other packages say what is wrong: the property, its value, and what was expected. */
    private static final Pattern SENTENCE = Pattern.compile("([^:]+): (.*) \\((expected: .*)\\)");

    private final Environment environment;
    private final RawTree root;
    private final ValidValues validValues;
    private final Consumer<ConfigurationProblem> problems;

    GatewayCheck(Environment environment, RawTree root, ValidValues validValues, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.root = root;
        this.validValues = validValues;
        this.problems = problems;
    }

    void check() {
        root.leaves()
                .filter(leaf -> READ_AT_STARTUP.matcher(leaf.path()).matches())
                .flatMap(leaf -> RawTree.effective(List.of(leaf)).stream())
                .flatMap(setting -> unresolved(setting).stream())
                .forEach(problems);
        validValues.explicit(TRUSTED_PROXIES).ifPresent(entry -> {
            if (entry.value() instanceof List<?> networks) {
                networks.forEach(network -> checkNetwork(entry, String.valueOf(network)));
            }
        });
        validValues.explicit(DNS_SERVER).ifPresent(this::checkDnsServer);
        checkManagementPort();
    }

    private void checkDnsServer(Entry server) {
        try {
            var _ = ClusterProperties.address(String.valueOf(server.value()));
        } catch (IllegalArgumentException e) {
            reportSentence(String.valueOf(e.getMessage()), server.location(), server.path());
        }
    }

    private void checkNetwork(Entry list, String network) {
        try {
            TrustedProxies.of(List.of(network));
        } catch (IllegalArgumentException e) {
            Setting setting = RawTree.at(root, TRUSTED_PROXIES).stream()
                    .flatMap(RawTree::allSettings)
                    .filter(one -> one.text().equals(network))
                    .findFirst()
                    .orElse(null);
            reportSentence(
                    String.valueOf(e.getMessage()),
                    setting == null ? list.location() : setting.location(),
                    setting == null ? list.path() : setting.path());
        }
    }

    private void checkManagementPort() {
        Optional<Integer> port = convert(MANAGEMENT_PORT, Integer.class);
        Optional<InetAddress> address = convert(MANAGEMENT_ADDRESS, InetAddress.class);
        Optional<Integer> serverPort = convert(SERVER_PORT, Integer.class);
        boolean readable = isReadable(MANAGEMENT_PORT, port)
                && isReadable(MANAGEMENT_ADDRESS, address)
                && isReadable(SERVER_PORT, serverPort);
        if (!readable) {
            return;
        }
        // One that is too short is reported by itself.
        @Nullable
        String token =
                RawTree.effective(RawTree.at(root, TOKEN)).map(Setting::text).orElse(null);
        @Nullable
        String problem = ManagementPort.problem(
                new ManagementProperties(token),
                address.orElse(null),
                port.orElse(null),
                serverPort.orElse(DEFAULT_SERVER_PORT));
        if (problem != null) {
            Setting setting = RawTree.effective(RawTree.at(root, MANAGEMENT_ADDRESS))
                    .or(() -> RawTree.effective(RawTree.at(root, MANAGEMENT_PORT)))
                    .orElse(null);
            reportSentence(problem, setting == null ? SourceLocation.outsideFiles("configuration") : setting.location(), null);
        }
    }

    private Optional<ConfigurationProblem> unresolved(Setting setting) {
        try {
            environment.resolveRequiredPlaceholders(setting.text());
            return Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.of(ConfigurationProblem.unresolved(setting, setting.text(), e));
        }
    }

    private <T> Optional<T> convert(String property, Class<T> type) {
        try {
            return Optional.ofNullable(environment.getProperty(property, type));
        } catch (ConversionException e) {
            return Optional.empty();
        }
    }

    /** What is not readable is reported, although it is not the gateway's own, since it decides who gets at it. */
    private boolean isReadable(String property, Optional<?> value) {
        Setting setting = RawTree.effective(RawTree.at(root, property)).orElse(null);
        if (value.isPresent() || setting == null || setting.text().isEmpty()) {
            return true;
        }
        if (unresolved(setting).isPresent()) {
            // Reported by itself.
            return false;
        }
        problems.accept(ConfigurationProblem.expected(
                setting.location(),
                setting.path(),
                setting.text(),
                property.endsWith("address") ? "an address of this machine" : "a port"));
        return false;
    }

    /** Takes a sentence apart; {@code path} is the property as it is written, if that is known. */
    private void reportSentence(String sentence, SourceLocation location, @Nullable String path) {
        Matcher parts = SENTENCE.matcher(sentence);
        problems.accept(
                parts.matches()
                        ? ConfigurationProblem.of(
                                location, path == null ? parts.group(1) : path, parts.group(2), parts.group(3))
                        : ConfigurationProblem.of(location, path == null ? "" : path, null, sentence));
    }
}
