package io.weir.config.check;

import io.weir.config.BackendProperties;
import io.weir.config.InstanceProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.ValidValues.Entry;
import io.weir.health.CheckMode;
import io.weir.health.HealthCheckProperties;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.LoadBalancingPolicy;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.SrvLookup;
import io.weir.instance.UpstreamProtocol;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Checks the rules for backends that annotations cannot express: names, URIs, TLS bundles, and properties of
 * Resilience4j that have no effect.
 */
final class BackendsCheck {

    static final String UNKNOWN_BUNDLE = "unknown: no spring.ssl.bundle.jks or spring.ssl.bundle.pem has this name";

    static final Pattern NAME = Pattern.compile("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");
    private static final int LARGEST_PORT = 65_535;
    private static final int ALL_PERCENT = 100;
    private static final int MAX_INSTANCES = 256;
    private static final String ONE_SOURCE = "one of uri, instances and discovery";
    private static final String EXAMPLE = "http://<host>:<port> or https://<host>:<port>";

    /** Weir's equivalents of Resilience4j's modules; {@code %s} is the backend. */
    private static final Map<String, String> EQUIVALENTS = Map.of(
            "circuitbreaker", "weir.backends.%s.circuit-breaker",
            "bulkhead", "weir.backends.%s.bulkhead",
            "thread-pool-bulkhead", "weir.backends.%s.bulkhead",
            "retry", "weir.routes.<id>.retry and weir.backends.%s.retry-budget",
            "timelimiter", "weir.backends.%s.deadline");

    private final RawTree root;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    BackendsCheck(RawTree root, Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.root = root;
        this.weir = weir;
        this.problems = problems;
    }

    void check() {
        Map<String, SourceLocation> backends = weir.names(WeirProperties::backends);
        backends.forEach((name, location) -> {
            Section<BackendProperties> backend = weir.in(WeirProperties::backends, name);
            if (!NAME.matcher(name).matches()) {
                problems.accept(ConfigurationProblem.expected(
                        location,
                        backend.path(),
                        null,
                        "1 to 63 of a-z, 0-9 and -; a letter first, a letter or digit last"));
            }
            checkAddresses(backend, location);
            checkLoadBalancing(backend.in(BackendProperties::loadBalancing));
            checkHealthCheck(backend, backend.in(BackendProperties::healthCheck));
            backend.in(BackendProperties::connection)
                    .explicit(ConnectionProperties::sslBundle)
                    .ifPresent(bundle -> checkSslBundle(backend, bundle));
        });
        checkGuaranteedShares(backends.keySet());
        EQUIVALENTS.forEach(
                (module, equivalent) -> reportResilience4jProperties(module, equivalent, backends.keySet()));
    }

    /**
     * The guaranteed shares fit into the limit of exchanges in flight. They may take all of it only if each
     * backend has one: otherwise the others would have no place at all.
     */
    private void checkGuaranteedShares(Collection<String> backends) {
        int sum = 0;
        boolean hasOthers = false;
        List<String> shares = new ArrayList<>();
        Entry last = null;
        for (String name : backends) {
            Entry entry = weir.in(WeirProperties::backends, name)
                    .explicit(BackendProperties::guaranteedShare)
                    .orElse(null);
            int percent = entry == null ? 0 : (Integer) entry.value();
            if (percent == 0) {
                hasOthers = true;
            } else {
                sum += percent;
                shares.add(name + ' ' + percent);
                last = entry;
            }
        }
        if (last != null && (sum > ALL_PERCENT || (sum == ALL_PERCENT && hasOthers))) {
            report(
                    last,
                    (hasOthers
                                    ? "less than 100 percent with the other shares, since not all backends have one: "
                                    : "at most 100 percent with the other shares: ")
                            + String.join(", ", shares));
        }
    }

    /** A backend has one source of addresses; a list of instances has different addresses. */
    private void checkAddresses(Section<BackendProperties> backend, SourceLocation location) {
        String list = backend.pathOf(BackendProperties::instances);
        Map<String, SourceLocation> instances = backend.indexes(BackendProperties::instances);
        Optional<Entry> single = backend.get(BackendProperties::uri);
        single.ifPresent(entry -> {
            checkUri(entry, (URI) entry.value());
            if (!instances.isEmpty()) {
                problems.accept(ConfigurationProblem.expected(
                        instances.values().iterator().next(), list, null, ONE_SOURCE));
            }
        });
        backend.get(BackendProperties::discovery)
                .filter(entry -> !instances.isEmpty() || single.isPresent())
                .ifPresent(entry -> report(entry, ONE_SOURCE));
        backend.explicit(BackendProperties::discovery)
                .filter(entry -> String.valueOf(entry.value()).startsWith("_"))
                .filter(entry -> !SrvLookup.appliesTo(String.valueOf(entry.value())))
                .ifPresent(entry -> report(entry, "SRV records such as _http._tcp.orders.example"));
        String uriPath = backend.pathOf(BackendProperties::uri);
        if (Stream.of(list, uriPath, backend.pathOf(BackendProperties::discovery))
                        .allMatch(source -> RawTree.at(root, source).isEmpty())
                && single.isEmpty()) {
            problems.accept(ConfigurationProblem.of(
                    location,
                    uriPath,
                    null,
                    "missing; expected: a URI such as http://orders:8080, or instances, or discovery"));
        }
        if (instances.size() > MAX_INSTANCES) {
            problems.accept(ConfigurationProblem.expected(
                    location, list, String.valueOf(instances.size()), "at most " + MAX_INSTANCES + " instances"));
        }
        checkBackups(backend);
        Map<String, String> seen = new HashMap<>();
        instances(backend)
                .forEach(instance -> instance.get(InstanceProperties::uri).ifPresent(entry -> {
                    URI uri = (URI) entry.value();
                    checkUri(entry, uri);
                    @Nullable
                    String other = seen.putIfAbsent(
                            String.valueOf(uri.getRawAuthority()).toLowerCase(Locale.ROOT), entry.path());
                    if (other != null) {
                        report(entry, "another address than " + other);
                    }
                }));
    }

    /** At least one instance is no backup. */
    private void checkBackups(Section<BackendProperties> backend) {
        List<Entry> backups = instances(backend)
                .flatMap(instance -> instance.explicit(InstanceProperties::backup).stream())
                .filter(entry -> entry.value().equals(true))
                .toList();
        if (!backups.isEmpty() && backups.size() == instances(backend).count()) {
            report(
                    backups.getFirst(),
                    "an instance that is no backup, because all instances of the backend are backups");
        }
    }

    /** A check has what its kind of request needs, and nothing that it ignores. */
    private void checkHealthCheck(Section<BackendProperties> backend, Section<HealthCheckProperties> check) {
        Entry probe = check.get(HealthCheckProperties::probe).orElse(null);
        if (probe == null) {
            return;
        }
        String path = check.pathOf(HealthCheckProperties::path);
        boolean hasPath = !RawTree.at(root, path).isEmpty();
        if (probe.value() == CheckMode.PATH && !hasPath) {
            problems.accept(ConfigurationProblem.of(
                    probe.location(), path, null, "missing; expected: text, a path that starts with /"));
        }
        if (probe.value() == CheckMode.GRPC_HEALTH
                && backend.value(BackendProperties::protocol).orElse(null) != UpstreamProtocol.H2) {
            report(probe, "also protocol: h2, since gRPC needs HTTP/2");
        }
        reportUnlessFor(CheckMode.PATH, probe, check.explicit(HealthCheckProperties::path));
        reportUnlessFor(CheckMode.PATH, probe, check.explicit(HealthCheckProperties::expectedStatuses));
        reportUnlessFor(CheckMode.GRPC_HEALTH, probe, check.explicit(HealthCheckProperties::grpcService));
    }

    private void reportUnlessFor(CheckMode mode, Entry probe, Optional<Entry> setting) {
        setting.filter(any -> probe.value() != mode)
                .ifPresent(entry -> report(
                        entry,
                        "also probe: " + mode.name().toLowerCase(Locale.ROOT).replace('_', '-')));
    }

    /** A hash has a key, and only a hash. */
    private void checkLoadBalancing(Section<LoadBalancingProperties> properties) {
        Entry key = properties.explicit(LoadBalancingProperties::hashKey).orElse(null);
        if (key == null
                && !RawTree.at(root, properties.pathOf(LoadBalancingProperties::hashKey))
                        .isEmpty()) {
            // PropertiesCheck has reported the key.
            return;
        }
        properties.get(LoadBalancingProperties::policy).ifPresent(policy -> {
            boolean isHash = policy.value() == LoadBalancingPolicy.HASH;
            if (isHash && key == null) {
                report(policy, "also a hash-key");
            } else if (!isHash && key != null) {
                report(key, "also policy: hash");
            }
        });
    }

    /** The configured addresses of a backend. */
    private static Stream<URI> uris(Section<BackendProperties> backend) {
        return Stream.concat(
                backend.value(BackendProperties::uri).stream(),
                instances(backend).flatMap(instance -> instance.value(InstanceProperties::uri).stream()));
    }

    private static Stream<Section<InstanceProperties>> instances(Section<BackendProperties> backend) {
        return backend.indexes(BackendProperties::instances).keySet().stream()
                .map(index -> backend.at(BackendProperties::instances, index));
    }

    private void checkUri(Entry entry, URI uri) {
        String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
        if (!scheme.equals("http") && !scheme.equals("https")) {
            report(entry, EXAMPLE);
        } else if (uri.getHost() == null) {
            String authority = String.valueOf(uri.getRawAuthority());
            report(
                    entry,
                    authority.contains("_")
                            ? "a host without underscores, which are not allowed in its name"
                            : EXAMPLE);
        } else if (uri.getPort() == 0 || uri.getPort() > LARGEST_PORT) {
            report(entry, "a port from 1 to " + LARGEST_PORT);
        } else if (uri.getRawUserInfo() != null) {
            report(entry, EXAMPLE + "; credentials belong to a header that a filter adds");
        } else if (uri.getRawQuery() != null
                || uri.getRawFragment() != null
                || uri.getRawPath().length() > 1) {
            report(entry, EXAMPLE + ", without a path; a path belongs to the filters PrefixPath and SetPath");
        }
    }

    private void checkSslBundle(Section<BackendProperties> backend, Entry bundle) {
        boolean isClearText = uris(backend).anyMatch(uri -> "http".equalsIgnoreCase(uri.getScheme()));
        Collection<String> bundles = new TreeSet<>();
        Stream.of("jks", "pem")
                .flatMap(kind -> RawTree.at(root, "spring.ssl.bundle." + kind).stream())
                .flatMap(RawTree::children)
                .forEach(child -> bundles.add(child.name()));
        if (isClearText) {
            report(bundle, "an https backend, because an SSL bundle is configured");
        } else if (!bundles.contains(String.valueOf(bundle.value()))) {
            problems.accept(bundle.problem(
                    bundle.text(), UNKNOWN_BUNDLE, PropertyNames.nearest(String.valueOf(bundle.value()), bundles)));
        }
    }

    private void reportResilience4jProperties(String module, String equivalent, Collection<String> backends) {
        Stream.of("instances", "backends")
                .flatMap(key -> RawTree.at(root, "resilience4j." + module + '.' + key).stream())
                .flatMap(RawTree::children)
                .forEach(instance -> backends.stream()
                        .filter(backend ->
                                PropertyNames.uniform(backend).equals(PropertyNames.uniform(instance.name())))
                        .forEach(backend -> problems.accept(instance.problem(
                                "without effect on a Weir backend; use " + equivalent.formatted(backend)))));
    }

    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(expected));
    }
}
