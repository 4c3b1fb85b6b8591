package io.weir.config.check;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.config.check.RoutesCheck.Route;
import io.weir.config.check.ValidValues.Entry;
import io.weir.engine.Mode;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.HealthSettings;
import io.weir.health.ProbeMode;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.BulkheadScope;
import io.weir.limit.DurationOrAuto;
import io.weir.limit.IntOrAuto;
import io.weir.limit.TenantKey;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;

/**
 * Finds valid values that contradict each other. Only explicit values can contradict: a default that exceeds
 * an explicit limit is valid, and never applies.
 */
final class ConsistencyCheck {

    private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
    /** Header fields of a static answer that the gateway sets itself. */
    private static final Set<String> GATEWAY_FIELDS =
            Set.of("content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer");

    private static final Set<Integer> WITHOUT_BODY = Set.of(204, 205, 304);
    /** No fallback is possible: there is no route yet, or the caller has disconnected. */
    private static final Set<Reason> WITHOUT_FALLBACK =
            Set.of(Reason.NO_ROUTE, Reason.MISDIRECTED, Reason.CLIENT_CLOSED);

    private final Environment environment;
    private final ValidValues validValues;
    private final Consumer<ConfigurationProblem> problems;

    ConsistencyCheck(Environment environment, ValidValues validValues, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.validValues = validValues;
        this.problems = problems;
    }

    /** Checks backends, routes and the gateway as a whole. */
    void check(List<Route> routes) {
        validValues
                .explicit("weir.edge.priority-header")
                .filter(entry -> !hasTrustedProxies())
                .ifPresent(entry -> report(
                        entry, "also weir.edge.trusted-proxies, since the field is used only from trusted proxies"));
        validValues
                .explicit("weir.rate-limit.redis.uri")
                .ifPresent(uri -> checkRedis(uri, String.valueOf(uri.value())));
        validValues.names("weir.backends").keySet().forEach(name -> {
            checkBackend(name);
            checkTenants(name, routes);
        });
        Map<String, Route> byId = routes.stream()
                .filter(route -> route.id() != null)
                .collect(
                        Collectors.toMap(route -> String.valueOf(route.id()), route -> route, (first, again) -> first));
        validValues.names("weir.routes").forEach((id, location) -> {
            Route route = byId.get(id);
            if (route == null) {
                @Nullable String nearest = PropertyNames.nearest(id, byId.keySet());
                problems.accept(new ConfigurationProblem(
                        location,
                        "weir.routes." + id,
                        null,
                        "no route has this id",
                        nearest == null ? null : toYamlKey(nearest)));
            } else if (route.backend() == null) {
                problems.accept(ConfigurationProblem.of(
                        location,
                        "weir.routes." + id,
                        null,
                        "without effect: the route in " + route.location() + " is not a backend:// route"));
            } else {
                checkRoute("weir.routes." + id, route.backend());
            }
        });
    }

    /** The id as a YAML key that Spring Boot does not change. */
    private static String toYamlKey(String id) {
        return id.chars().allMatch(c -> Character.isLetterOrDigit(c) || c == '-' || c == '_') ? id : "\"[" + id + "]\"";
    }

    private void checkRedis(Entry uri, String text) {
        boolean isCluster = validValues
                .value("weir.rate-limit.redis.cluster", Boolean.class)
                .orElse(false);
        if (!isCluster && text.indexOf(',', text.lastIndexOf('@')) >= 0) {
            report(uri, "one host, or also weir.rate-limit.redis.cluster: true");
        } else if (isCluster && text.matches(".*/\\d+")) {
            report(uri, "no database, since a cluster has only one");
        }
    }

    private void checkBackend(String name) {
        String backend = "weir.backends." + name;
        String deadline = backend + ".deadline";
        atMost(backend + ".bulkhead.max-wait-duration", deadline, "the deadline");
        atMost(backend + ".circuit-breaker.slow-call-duration-threshold", deadline, "the deadline");
        atMost(backend + ".circuit-breaker.stall-duration", deadline, "the deadline");
        atMost(backend + ".health-check.timeout", backend + ".health-check.interval", "the interval");
        atMost(backend + ".connection.connect-timeout", deadline, "the deadline");
        atMost(backend + ".connection.max-idle", backend + ".connection.max-life", "max-life");
        checkLimit(backend + ".bulkhead");
        checkBreaker(backend);
        checkProbe(backend);
        validValues
                .explicit(backend + ".bulkhead.scope")
                .filter(scope -> scope.value() == BulkheadScope.CLUSTER
                        && validValues.get("weir.cluster.gateways").isEmpty())
                .ifPresent(scope -> report(scope, "weir.cluster.gateways, the DNS name of all gateways"));
    }

    private void checkLimit(String bulkhead) {
        String limit = bulkhead + ".limit";
        atMost(limit + ".min", limit + ".max", "limit.max");
        atMost(limit + ".initial", limit + ".max", "limit.max");
        atMost(limit + ".min", limit + ".initial", "limit.initial");
        Entry calls = validValues.get(bulkhead + ".max-concurrent-calls").orElse(null);
        if (calls == null) {
            return;
        }
        Entry scope = validValues.explicit(bulkhead + ".scope").orElse(null);
        if (isAuto(calls) && scope != null && scope.value() == BulkheadScope.CLUSTER) {
            report(
                    calls.isExplicit() ? calls : scope,
                    calls.isExplicit()
                            ? "a number, since scope: cluster divides a fixed limit among the gateways"
                            : "gateway, or a number in max-concurrent-calls beside it: auto finds the limit of one"
                                    + " gateway");
        }
        if (!isAuto(calls) && !isOperators(calls)) {
            for (String bound : List.of("min", "max", "initial")) {
                validValues
                        .explicit(limit + '.' + bound)
                        .ifPresent(entry -> problems.accept(entry.problem("without effect beside max-concurrent-calls: " + calls.value()
                                        + "; it bounds max-concurrent-calls: auto")));
            }
        }
    }

    /** A caller that names its own tenant would take many shares. */
    private void checkTenants(String backend, List<Route> routes) {
        Entry key = validValues
                .explicit("weir.backends." + backend + ".fairness.key")
                .orElse(null);
        if (key == null) {
            return;
        }
        String part = String.valueOf(key.value());
        if (part.startsWith(TenantKey.HEADER) && !hasTrustedProxies()) {
            report(key, "also weir.edge.trusted-proxies, since the field is used only from trusted proxies");
        }
        if (part.startsWith(TenantKey.CLAIM) && routes.stream().noneMatch(route -> bringsTokens(route, backend))) {
            report(
                    key,
                    "also authentication.issuers of a route to " + backend
                            + ", since only a verified token has claims");
        }
    }

    /** Whether a route brings requests with a verified token to a backend, by itself or as a fallback. */
    private boolean bringsTokens(Route route, String backend) {
        String properties = "weir.routes." + route.id();
        boolean leadsThere = backend.equals(route.backend())
                || validValues
                        .get(properties + ".fallback.backend")
                        .filter(entry -> backend.equals(entry.value()))
                        .isPresent();
        return leadsThere && IssuersCheck.requiresToken(validValues, properties);
    }

    private boolean hasTrustedProxies() {
        return validValues
                .get("weir.edge.trusted-proxies")
                .filter(entry -> entry.value() instanceof List<?> proxies && !proxies.isEmpty())
                .isPresent();
    }

    private static boolean isAuto(Entry calls) {
        return calls.value() instanceof IntOrAuto number && number.isAuto();
    }

    /** An operator may set a number for a while; the bounds in the file wait for its end. */
    private static boolean isOperators(Entry entry) {
        return entry.location().isOfOperator();
    }

    private void checkBreaker(String backend) {
        String breaker = backend + ".circuit-breaker";
        boolean counts = validValues
                .value(breaker + ".sliding-window-type", SlidingWindowType.class)
                .filter(type -> type == SlidingWindowType.COUNT_BASED)
                .isPresent();
        Entry minimum =
                validValues.explicit(breaker + ".minimum-number-of-calls").orElse(null);
        if (minimum == null || !counts) {
            return;
        }
        try {
            CircuitBreakerProperties properties =
                    Binder.get(environment).bindOrCreate(breaker, CircuitBreakerProperties.class);
            int window = HealthSettings.slidingWindowSize(properties);
            if ((Integer) minimum.value() > window) {
                report(minimum, "at most the sliding window, " + window + " calls");
            }
        } catch (BindException e) {
            // PropertiesCheck has reported the value that does not convert.
        }
    }

    private void checkProbe(String backend) {
        Entry probe = validValues.explicit(backend + ".recovery.probe").orElse(null);
        Optional<Entry> path = validValues.explicit(backend + ".recovery.health-path");
        if (probe == null) {
            return;
        }
        if (probe.value() == ProbeMode.PATH && path.isEmpty()) {
            report(probe, "also a health-path");
        } else if (probe.value() != ProbeMode.PATH && path.isPresent()) {
            report(probe, "path, since a health-path is set");
        }
        if (probe.value() == ProbeMode.GRPC_HEALTH
                && validValues
                        .value(backend + ".protocol", UpstreamProtocol.class)
                        .filter(protocol -> protocol == UpstreamProtocol.H2)
                        .isEmpty()) {
            report(probe, "also protocol: h2, since gRPC needs HTTP/2");
        }
    }

    private void checkRoute(String route, String name) {
        String backend = "weir.backends." + name;
        boolean own = validValues.get(route + ".deadline").isPresent();
        String deadline = own ? route + ".deadline" : backend + ".deadline";
        boolean streams = validValues.value(route + ".mode", Mode.class).orElse(Mode.REQUEST) == Mode.STREAM;
        atMost(route + ".deadline", backend + ".deadline", "the deadline of backend " + name);
        String calls = backend + ".bulkhead.max-concurrent-calls";
        boolean adapts = validValues.get(calls).filter(ConsistencyCheck::isAuto).isPresent();
        atMost(
                route + ".max-concurrent-calls",
                streams ? backend + ".max-streams" : adapts ? backend + ".bulkhead.limit.max" : calls,
                (streams ? "the max-streams" : adapts ? "the bulkhead.limit.max" : "the max-concurrent-calls")
                        + " of backend " + name);
        atMost(route + ".retry.attempt-timeout", deadline, "the deadline");
        atMost(route + ".retry.backoff", deadline, "the deadline");
        validValues
                .explicit(route + ".rate-limit.shared")
                .filter(shared -> Boolean.TRUE.equals(shared.value())
                        && validValues.get("weir.rate-limit.redis.uri").isEmpty())
                .ifPresent(shared -> report(shared, "also weir.rate-limit.redis.uri, where all gateways count"));
        checkFallback(route + ".fallback", name);
        checkStaticAnswer(route + ".answer");
    }

    private void checkFallback(String fallback, String routesBackend) {
        Entry backend = validValues.explicit(fallback + ".backend").orElse(null);
        if (backend != null) {
            String name = String.valueOf(backend.value());
            Set<String> backends = validValues.names("weir.backends").keySet();
            if (name.equals(routesBackend)) {
                report(backend, "another backend than the route's own");
            } else if (!backends.contains(name)) {
                problems.accept(backend.problem(backend.text(), "unknown backend", PropertyNames.nearest(name, backends)));
            }
            for (String part : List.of("status", "content-type", "body")) {
                validValues
                        .explicit(fallback + '.' + part)
                        .ifPresent(entry -> report(entry, "a static answer or another backend, not both"));
            }
            validValues
                    .names(fallback + ".headers")
                    .forEach((header, location) -> problems.accept(ConfigurationProblem.expected(
                            location,
                            fallback + ".headers." + header,
                            null,
                            "a static answer or another backend, not both")));
        }
        checkStaticAnswer(fallback);
        validValues.get(fallback + ".reasons").filter(Entry::isExplicit).ifPresent(this::checkReasons);
    }

    /** Checks an answer that the configuration contains: of a fallback, or of a route. */
    private void checkStaticAnswer(String answer) {
        validValues
                .explicit(answer + ".body")
                .ifPresent(body -> validValues
                        .value(answer + ".status", Integer.class)
                        .filter(status -> WITHOUT_BODY.contains(status)
                                && !String.valueOf(body.value()).isEmpty())
                        .ifPresent(status ->
                                report(body, "nothing, since an answer with status " + status + " has no body")));
        validValues.names(answer + ".headers").forEach((header, location) -> checkHeader(answer, header, location));
    }

    private void checkHeader(String answer, String header, SourceLocation location) {
        String path = answer + ".headers." + header;
        String lower = header.toLowerCase(Locale.ROOT);
        if (!TOKEN.matcher(header).matches()) {
            problems.accept(ConfigurationProblem.of(location, path, null, "not the name of a header field"));
        } else if ("content-type".equals(lower)) {
            problems.accept(ConfigurationProblem.of(
                    location, path, null, "use " + answer.substring(answer.lastIndexOf('.') + 1) + ".content-type"));
        } else if (GATEWAY_FIELDS.contains(lower)) {
            problems.accept(ConfigurationProblem.of(location, path, null, "the gateway sets this field"));
        }
    }

    private void checkReasons(Entry list) {
        if (list.value() instanceof List<?> reasons) {
            WITHOUT_FALLBACK.stream()
                    .filter(reasons::contains)
                    .forEach(reason -> problems.accept(list.problem(reason.word(), "no fallback is possible for this reason")));
        }
    }

    /** Reports an explicit value that exceeds a limit; the limit may be a default. */
    private void atMost(String path, String limitPath, String limitName) {
        validValues
                .explicit(path)
                .filter(entry -> !isDerived(entry.value()))
                .ifPresent(entry -> validValues.get(limitPath).ifPresent(limit -> {
                    if (compare(entry.value(), limit.value()) > 0) {
                        report(entry, "at most " + limitName + ", " + displayText(limit.value()));
                    }
                }));
    }

    private static boolean isDerived(Object value) {
        return value instanceof DurationOrAuto duration && duration.isAuto();
    }

    private static int compare(Object value, Object limit) {
        return switch (value) {
            case Duration duration -> duration.compareTo((Duration) limit);
            case DurationOrAuto duration -> duration.orElse(Duration.ZERO).compareTo((Duration) limit);
            default ->
                Integer.compare((Integer) value, limit instanceof IntOrAuto calls ? calls.orElse(1) : (Integer) limit);
        };
    }

    private static String displayText(Object value) {
        return value instanceof Duration duration ? ExpectedValue.duration(duration) : value.toString();
    }

    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(expected));
    }
}
