package io.weir.config.check;

import io.weir.cluster.ClusterProperties;
import io.weir.config.ReloadProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.EdgeProperties;
import io.weir.edge.ProxyProtocol;
import io.weir.management.ManagementPort;
import io.weir.management.ManagementProperties;
import io.weir.overload.OverloadProperties;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.logging.LogLevel;
import org.springframework.core.convert.ConversionException;
import org.springframework.core.env.Environment;

/**
 * Checks the rules for the whole gateway that annotations cannot express: networks, the PROXY protocol, the
 * DNS server, the management port, the period of certificates, levels of the log, and placeholders without a
 * value.
 */
final class GatewayCheck {

    private static final String MANAGEMENT_PORT = "management.server.port";
    private static final String MANAGEMENT_ADDRESS = "management.server.address";
    private static final String SERVER_PORT = "server.port";
    private static final int DEFAULT_SERVER_PORT = 8080;
    private static final int MAX_PORT = 65_535;
    private static final String FORWARD_HEADERS = "server.forward-headers-strategy";
    private static final String NO_STRATEGY = "none";
    private static final String LOG_LEVEL = "logging.level";
    private static final String LOG_LEVELS = "for each logger trace, debug, info, warn, error, fatal or off";
    /** As many as {@code LoopDelay} keeps, and some. */
    private static final int MAX_INTERVAL_TARGETS = 100;
    /**
     * Properties that Spring Boot reads at startup. A placeholder without a value there ends the start with a
     * stack trace, or is used as text. Routes and filters are excluded, because their text may contain {@code
     * ${}} literally.
     */
    private static final Pattern READ_AT_STARTUP = Pattern.compile(
            "(spring\\.(?!cloud\\.gateway\\.server\\.webflux\\.(routes|default-?filters)|config\\.)|logging\\.level\\.|server\\.|management\\.server\\.).*",
            Pattern.CASE_INSENSITIVE);
    /** The format of error messages from other packages: property, value, expected value. */
    private static final Pattern SENTENCE = Pattern.compile("([^:]+): (.*) \\((expected: .*)\\)");

    private final Environment environment;
    private final RawTree root;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    GatewayCheck(
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
        root.leaves()
                .filter(leaf -> READ_AT_STARTUP.matcher(leaf.path()).matches())
                .flatMap(leaf -> RawTree.effective(List.of(leaf)).stream())
                .flatMap(setting -> unresolved(setting).stream())
                .forEach(problems);
        new NetworksCheck(root, weir, problems).check();
        new RouteAnswersCheck(root, weir, problems).check();
        new TlsCheck(environment, root, weir, problems).check();
        new IssuersCheck(environment, weir, problems).check();
        checkProxyProtocol();
        weir.in(WeirProperties::cluster).explicit(ClusterProperties::dnsServer).ifPresent(this::checkDnsServer);
        weir.explicit(WeirProperties::dnsServer).ifPresent(this::checkDnsServer);
        checkForwardHeaders();
        checkEventLoopDelays();
        checkCertificatePeriod();
        checkTokens();
        checkPort(SERVER_PORT, 0);
        // -1 switches the management port off.
        checkPort(MANAGEMENT_PORT, -1);
        checkManagementPort();
        checkLogLevels();
    }

    /** Spring Boot ends a start with a stack trace for any other word. */
    private void checkLogLevels() {
        RawTree.at(root, LOG_LEVEL).stream()
                .flatMap(RawTree::leaves)
                .flatMap(leaf -> RawTree.effective(List.of(leaf)).stream())
                .filter(setting -> unresolved(setting).isEmpty() && !isLogLevel(setting))
                .forEach(setting -> problems.accept(setting.expected(LOG_LEVELS)));
    }

    private boolean isLogLevel(Setting setting) {
        if (PropertyNames.uniform(setting.path()).equals(LOG_LEVEL)) {
            return false;
        }
        try {
            // Takes false too, as which YAML reads off.
            var _ = ApplicationConversionService.getSharedInstance()
                    .convert(environment.resolvePlaceholders(setting.text()), LogLevel.class);
            return true;
        } catch (ConversionException e) {
            return false;
        }
    }

    /** The order of the delays at which the gateway begins to refuse requests, and refuses all. */
    private void checkEventLoopDelays() {
        Section<OverloadProperties> overload = weir.in(WeirProperties::overload);
        Optional<Duration> target = overload.value(OverloadProperties::targetEventLoopDelay);
        checkAtMost(
                overload.get(OverloadProperties::targetEventLoopDelay),
                overload.value(OverloadProperties::maxEventLoopDelay),
                "max-event-loop-delay");
        checkAtMost(
                overload.get(OverloadProperties::interval),
                target.map(delay -> delay.multipliedBy(MAX_INTERVAL_TARGETS)),
                MAX_INTERVAL_TARGETS + " times target-event-loop-delay");
    }

    private void checkAtMost(Optional<Entry> value, Optional<Duration> limit, String limitName) {
        value.ifPresent(entry -> limit.filter(most -> ((Duration) entry.value()).compareTo(most) > 0)
                .ifPresent(most -> problems.accept(entry.expected(
                        ((Duration) entry.value()).toMillis() + "ms",
                        "at most " + limitName + ", " + most.toMillis() + "ms"))));
    }

    /** Spring Boot reports a value that is no duration. */
    private void checkCertificatePeriod() {
        RawTree.effective(RawTree.at(root, ReloadProperties.CERTIFICATE_PERIOD)).ifPresent(setting -> {
            try {
                Duration period = DurationStyle.detectAndParse(environment.resolvePlaceholders(setting.text()));
                if (period.compareTo(ReloadProperties.MIN_CERTIFICATE_PERIOD) < 0) {
                    problems.accept(
                            setting.expected("at least " + ReloadProperties.MIN_CERTIFICATE_PERIOD.toMillis() + "ms"));
                }
            } catch (IllegalArgumentException e) {
                // Reported by check() or by Spring Boot.
            }
        });
    }

    /**
     * Refuses Spring Boot's own handling of forwarded headers. It would trust every caller, even for the path
     * in {@code X-Forwarded-Prefix}, and would bypass the edge's rules.
     */
    private void checkForwardHeaders() {
        String strategy = environment.getProperty(FORWARD_HEADERS, NO_STRATEGY);
        if (!strategy.isEmpty() && !strategy.equalsIgnoreCase(NO_STRATEGY)) {
            Setting setting =
                    RawTree.effective(RawTree.at(root, FORWARD_HEADERS)).orElse(null);
            problems.accept(ConfigurationProblem.expected(
                    setting == null ? SourceLocation.outsideFiles("configuration") : setting.location(),
                    setting == null ? FORWARD_HEADERS : setting.path(),
                    strategy,
                    "none; list the trusted proxies in " + NetworksCheck.TRUSTED_PROXIES));
        }
    }

    /** Reports a PROXY protocol that is believed from nobody. */
    private void checkProxyProtocol() {
        weir.in(WeirProperties::edge)
                .explicit(EdgeProperties::proxyProtocol)
                .filter(entry -> entry.value() != ProxyProtocol.OFF && !NetworksCheck.hasTrustedProxies(weir))
                .ifPresent(entry -> problems.accept(entry.expected(
                        "also " + NetworksCheck.TRUSTED_PROXIES + ", the balancers that send the header")));
    }

    private void checkDnsServer(Entry server) {
        try {
            var _ = ClusterProperties.address(String.valueOf(server.value()));
        } catch (IllegalArgumentException e) {
            reportSentence(String.valueOf(e.getMessage()), server.location(), server.path());
        }
    }

    /**
     * Reports a token that no request can send, such as one with the line feed of its file, and two equal
     * tokens: the audit would name either.
     */
    private void checkTokens() {
        List<Entry> tokens = new ArrayList<>();
        Section<ManagementProperties> management = weir.in(WeirProperties::management);
        management.explicit(ManagementProperties::token).ifPresent(tokens::add);
        management.explicit(ManagementProperties::readOnlyToken).ifPresent(tokens::add);
        management.entries(ManagementProperties::operators).forEach(tokens::add);
        Map<Object, Entry> byValue = new HashMap<>();
        for (Entry token : tokens) {
            if (!canBeSent(String.valueOf(token.value()))) {
                problems.accept(
                        token.expected("a text without control characters, and without white space at its ends"));
            }
            Entry same = byValue.putIfAbsent(token.value(), token);
            if (same != null) {
                problems.accept(token.expected("another token than that of " + same.path()));
            }
        }
    }

    /** Whether a header field can hold a token: readers cut white space off its ends. */
    private static boolean canBeSent(String token) {
        return token.strip().equals(token) && token.chars().noneMatch(Character::isISOControl);
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
        // Valid or not: another check reports a token that is too short.
        Section<ManagementProperties> management = weir.in(WeirProperties::management);
        boolean hasToken = Stream.of(
                        management.pathOf(ManagementProperties::token),
                        management.pathOf(ManagementProperties::readOnlyToken),
                        management.pathOf(ManagementProperties::operators))
                .flatMap(path -> RawTree.at(root, path).stream())
                .anyMatch(node -> node.leaves().findAny().isPresent());
        @Nullable
        String problem = ManagementPort.problem(
                hasToken, address.orElse(null), port.orElse(null), serverPort.orElse(DEFAULT_SERVER_PORT));
        if (problem != null) {
            Setting setting = RawTree.effective(RawTree.at(root, MANAGEMENT_ADDRESS))
                    .or(() -> RawTree.effective(RawTree.at(root, MANAGEMENT_PORT)))
                    .orElse(null);
            reportSentence(
                    problem, setting == null ? SourceLocation.outsideFiles("configuration") : setting.location(), null);
        }
    }

    /**
     * Reports a port that no machine has, which would end the start only after everything else has started.
     */
    private void checkPort(String property, int lowest) {
        convert(property, Integer.class)
                .filter(port -> port < lowest || port > MAX_PORT)
                .flatMap(port -> RawTree.effective(RawTree.at(root, property)))
                .ifPresent(setting -> problems.accept(setting.expected("a port, " + lowest + " to " + MAX_PORT)));
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

    /**
     * Whether the property converts; reports it if not. These properties are Spring Boot's, but they decide
     * who can reach the management port.
     */
    private boolean isReadable(String property, Optional<?> value) {
        Setting setting = RawTree.effective(RawTree.at(root, property)).orElse(null);
        if (value.isPresent() || setting == null || setting.text().isEmpty()) {
            return true;
        }
        if (unresolved(setting).isPresent()) {
            // Reported by check().
            return false;
        }
        problems.accept(setting.expected(property.endsWith("address") ? "an address of this machine" : "a port"));
        return false;
    }

    /**
     * Splits an error message into a problem; {@code path} is the original spelling of the property, null if
     * unknown.
     */
    private void reportSentence(String sentence, SourceLocation location, @Nullable String path) {
        Matcher parts = SENTENCE.matcher(sentence);
        problems.accept(
                parts.matches()
                        ? ConfigurationProblem.of(
                                location, path == null ? parts.group(1) : path, parts.group(2), parts.group(3))
                        : ConfigurationProblem.of(location, path == null ? "" : path, null, sentence));
    }
}
