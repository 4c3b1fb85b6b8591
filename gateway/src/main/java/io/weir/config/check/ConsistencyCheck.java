package io.weir.config.check;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.weir.authorization.AuthorizeProperties;
import io.weir.capacity.CapacitySignalProperties;
import io.weir.cluster.ClusterProperties;
import io.weir.config.BackendProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesCheck.Route;
import io.weir.config.check.Section.Component;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.EdgeProperties;
import io.weir.engine.Mode;
import io.weir.fallback.FallbackProperties;
import io.weir.fallback.RouteAnswerProperties;
import io.weir.health.CircuitBreakerProperties;
import io.weir.health.HealthCheckProperties;
import io.weir.health.HealthSettings;
import io.weir.health.ProbeMode;
import io.weir.health.RecoveryProperties;
import io.weir.instance.ConnectionProperties;
import io.weir.instance.UpstreamProtocol;
import io.weir.limit.AdaptiveLimitProperties;
import io.weir.limit.BulkheadProperties;
import io.weir.limit.BulkheadScope;
import io.weir.limit.DurationOrAuto;
import io.weir.limit.FairnessProperties;
import io.weir.limit.IntOrAuto;
import io.weir.limit.TenantKey;
import io.weir.outcome.Reason;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RedisProperties;
import io.weir.ratelimit.SharedRateLimitProperties;
import io.weir.retry.RetryProperties;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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

    private static final int ALL_PERCENT = 100;
    private static final String DEADLINE = "the deadline";
    private static final String NOT_BOTH = "a static answer or another backend, not both";
    private static final Set<Integer> WITHOUT_BODY = Set.of(204, 205, 304);
    /** No fallback is possible: there is no route yet, the request may not use it, or the caller has left. */
    private static final Set<Reason> WITHOUT_FALLBACK =
            Set.of(Reason.NO_ROUTE, Reason.MISDIRECTED, Reason.AUTHORIZER_FAILED, Reason.CLIENT_CLOSED);

    private final Environment environment;
    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    ConsistencyCheck(Environment environment, Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.weir = weir;
        this.problems = problems;
    }

    /** Checks backends, routes and the gateway as a whole. */
    void check(List<Route> routes) {
        weir.in(WeirProperties::edge)
                .explicit(EdgeProperties::priorityHeader)
                .filter(entry -> !NetworksCheck.hasTrustedProxies(weir))
                .ifPresent(entry -> report(
                        entry, "also weir.edge.trusted-proxies, since the field is used only from trusted proxies"));
        redis().explicit(RedisProperties::uri).ifPresent(uri -> checkRedis(uri, String.valueOf(uri.value())));
        weir.each(WeirProperties::backends).forEach(backend -> {
            checkBackend(backend.getValue());
            checkTenants(backend.getKey(), backend.getValue(), routes);
            checkGuaranteedShares(backend.getKey(), routes);
        });
        Map<String, Route> byId = routes.stream()
                .filter(route -> route.id() != null)
                .collect(
                        Collectors.toMap(route -> String.valueOf(route.id()), route -> route, (first, again) -> first));
        weir.names(WeirProperties::routes).forEach((id, location) -> {
            Section<RouteProperties> section = weir.in(WeirProperties::routes, id);
            Route route = byId.get(id);
            if (route == null) {
                @Nullable String nearest = PropertyNames.nearest(id, byId.keySet());
                problems.accept(new ConfigurationProblem(
                        location,
                        section.path(),
                        null,
                        "no route has this id",
                        nearest == null ? null : toYamlKey(nearest)));
            } else if (route.backend() == null) {
                problems.accept(ConfigurationProblem.of(
                        location,
                        section.path(),
                        null,
                        "without effect: the route in " + route.location() + " is not a backend:// route"));
            } else {
                checkRoute(section, route.backend());
            }
        });
    }

    /** The guaranteed shares of a backend's routes fit into its limit. */
    private void checkGuaranteedShares(String backend, List<Route> routes) {
        int sum = 0;
        List<String> shares = new ArrayList<>();
        for (Route route : routes) {
            Entry entry = backend.equals(route.backend()) && route.id() != null
                    ? weir.in(WeirProperties::routes, route.id())
                            .explicit(RouteProperties::guaranteedShare)
                            .orElse(null)
                    : null;
            if (entry != null) {
                sum += (Integer) entry.value();
                shares.add(route.id() + ' ' + entry.value());
                if (sum > ALL_PERCENT) {
                    report(
                            entry,
                            "at most 100 percent with the other shares of backend " + backend + ": "
                                    + String.join(", ", shares));
                    return;
                }
            }
        }
    }

    private Section<RedisProperties> redis() {
        return weir.in(WeirProperties::rateLimit).in(SharedRateLimitProperties::redis);
    }

    /** The id as a YAML key that Spring Boot does not change. */
    private static String toYamlKey(String id) {
        return id.chars().allMatch(c -> Character.isLetterOrDigit(c) || c == '-' || c == '_') ? id : "\"[" + id + "]\"";
    }

    private void checkRedis(Entry uri, String text) {
        boolean isCluster = redis().value(RedisProperties::cluster).orElse(false);
        if (!isCluster && text.indexOf(',', text.lastIndexOf('@')) >= 0) {
            report(uri, "one host, or also weir.rate-limit.redis.cluster: true");
        } else if (isCluster && text.matches(".*/\\d+")) {
            report(uri, "no database, since a cluster has only one");
        }
    }

    private void checkBackend(Section<BackendProperties> backend) {
        Section<BulkheadProperties> bulkhead = backend.in(BackendProperties::bulkhead);
        Section<CircuitBreakerProperties> breaker = backend.in(BackendProperties::circuitBreaker);
        Section<HealthCheckProperties> healthCheck = backend.in(BackendProperties::healthCheck);
        Section<ConnectionProperties> connection = backend.in(BackendProperties::connection);
        Optional<Entry> deadline = backend.get(BackendProperties::deadline);
        atMost(bulkhead.explicit(BulkheadProperties::maxWaitDuration), deadline, DEADLINE);
        atMost(breaker.explicit(CircuitBreakerProperties::slowCallDurationThreshold), deadline, DEADLINE);
        atMost(breaker.explicit(CircuitBreakerProperties::stallDuration), deadline, DEADLINE);
        atMost(
                healthCheck.explicit(HealthCheckProperties::timeout),
                healthCheck.get(HealthCheckProperties::interval),
                "the interval");
        atMost(connection.explicit(ConnectionProperties::connectTimeout), deadline, DEADLINE);
        atMost(
                connection.explicit(ConnectionProperties::maxIdle),
                connection.get(ConnectionProperties::maxLife),
                "max-life");
        checkLimit(bulkhead);
        backend.in(BackendProperties::capacitySignal)
                .get(CapacitySignalProperties::header)
                .ifPresent(header -> checkSignal(header, bulkhead));
        checkBreaker(breaker);
        checkProbe(backend);
        bulkhead.explicit(BulkheadProperties::scope)
                .filter(scope -> scope.value() == BulkheadScope.CLUSTER
                        && weir.in(WeirProperties::cluster)
                                .get(ClusterProperties::gateways)
                                .isEmpty())
                .ifPresent(scope -> report(scope, "weir.cluster.gateways, the DNS name of all gateways"));
    }

    private void checkLimit(Section<BulkheadProperties> bulkhead) {
        Section<AdaptiveLimitProperties> limit = bulkhead.in(BulkheadProperties::limit);
        Optional<Entry> min = limit.explicit(AdaptiveLimitProperties::min);
        Optional<Entry> max = limit.explicit(AdaptiveLimitProperties::max);
        Optional<Entry> initial = limit.explicit(AdaptiveLimitProperties::initial);
        atMost(min, max, "limit.max");
        atMost(initial, max, "limit.max");
        atMost(min, initial, "limit.initial");
        Entry calls = bulkhead.get(BulkheadProperties::maxConcurrentCalls).orElse(null);
        if (calls == null) {
            return;
        }
        Entry scope = bulkhead.explicit(BulkheadProperties::scope).orElse(null);
        if (isAuto(calls) && scope != null && scope.value() == BulkheadScope.CLUSTER) {
            report(
                    calls.isExplicit() ? calls : scope,
                    calls.isExplicit()
                            ? "a number, since scope: cluster divides a fixed limit among the gateways"
                            : "gateway, or a number in max-concurrent-calls beside it: auto finds the limit of one"
                                    + " gateway");
        }
        if (!isAuto(calls) && !isOperators(calls)) {
            Stream.of(min, max, initial)
                    .flatMap(Optional::stream)
                    .forEach(bound -> problems.accept(bound.problem("without effect beside max-concurrent-calls: "
                            + calls.value() + "; it bounds max-concurrent-calls: auto")));
        }
    }

    /** A capacity takes the place of a limit that adapts; its field is taken from the answers. */
    private void checkSignal(Entry header, Section<BulkheadProperties> bulkhead) {
        bulkhead.get(BulkheadProperties::maxConcurrentCalls)
                .filter(calls -> !isAuto(calls) && !isOperators(calls))
                .ifPresent(calls -> problems.accept(header.problem("without effect beside max-concurrent-calls: "
                        + calls.value() + "; it takes the place of max-concurrent-calls: auto")));
        String name = String.valueOf(header.value()).toLowerCase(Locale.ROOT);
        if (GATEWAY_FIELDS.contains(name) || name.startsWith("content-")) {
            report(header, "a field of its own, since callers do not see it");
        }
    }

    /** A caller that names its own tenant would take many shares. */
    private void checkTenants(String name, Section<BackendProperties> backend, List<Route> routes) {
        Entry key = backend.in(BackendProperties::fairness)
                .explicit(FairnessProperties::key)
                .orElse(null);
        if (key == null) {
            return;
        }
        String part = String.valueOf(key.value());
        if (part.startsWith(TenantKey.HEADER) && !NetworksCheck.hasTrustedProxies(weir)) {
            report(key, "also weir.edge.trusted-proxies, since the field is used only from trusted proxies");
        }
        if (part.startsWith(TenantKey.CLAIM) && routes.stream().noneMatch(route -> bringsTokens(route, name))) {
            report(
                    key,
                    "also authentication.issuers of a route to " + name + ", since only a verified token has claims");
        }
    }

    /** Whether a route brings requests with a verified token to a backend, its own or another one. */
    private boolean bringsTokens(Route route, String backend) {
        Section<RouteProperties> properties = weir.in(WeirProperties::routes, String.valueOf(route.id()));
        boolean leadsThere = backend.equals(route.backend())
                || properties
                        .in(RouteProperties::fallback)
                        .value(FallbackProperties::backend)
                        .filter(backend::equals)
                        .isPresent()
                || properties
                        .in(RouteProperties::authorize)
                        .value(AuthorizeProperties::backend)
                        .filter(backend::equals)
                        .isPresent();
        return leadsThere && IssuersCheck.requiresToken(properties);
    }

    private static boolean isAuto(Entry calls) {
        return calls.value() instanceof IntOrAuto number && number.isAuto();
    }

    /** An operator may set a number for a while; the bounds in the file wait for its end. */
    private static boolean isOperators(Entry entry) {
        return entry.location().isOfOperator();
    }

    private void checkBreaker(Section<CircuitBreakerProperties> breaker) {
        Entry minimum =
                breaker.explicit(CircuitBreakerProperties::minimumNumberOfCalls).orElse(null);
        if (minimum == null
                || breaker.value(CircuitBreakerProperties::slidingWindowType).orElse(null)
                        != SlidingWindowType.COUNT_BASED) {
            return;
        }
        try {
            CircuitBreakerProperties properties =
                    Binder.get(environment).bindOrCreate(breaker.path(), CircuitBreakerProperties.class);
            int window = HealthSettings.slidingWindowSize(properties);
            if ((Integer) minimum.value() > window) {
                report(minimum, "at most the sliding window, " + window + " calls");
            }
        } catch (BindException e) {
            // PropertiesCheck has reported the value that does not convert.
        }
    }

    private void checkProbe(Section<BackendProperties> backend) {
        Section<RecoveryProperties> recovery = backend.in(BackendProperties::recovery);
        Entry probe = recovery.explicit(RecoveryProperties::probe).orElse(null);
        Optional<Entry> path = recovery.explicit(RecoveryProperties::healthPath);
        if (probe == null) {
            return;
        }
        if (probe.value() == ProbeMode.PATH && path.isEmpty()) {
            report(probe, "also a health-path");
        } else if (probe.value() != ProbeMode.PATH && path.isPresent()) {
            report(probe, "path, since a health-path is set");
        }
        if (probe.value() == ProbeMode.GRPC_HEALTH
                && backend.value(BackendProperties::protocol).orElse(null) != UpstreamProtocol.H2) {
            report(probe, "also protocol: h2, since gRPC needs HTTP/2");
        }
    }

    private void checkRoute(Section<RouteProperties> route, String name) {
        Section<BackendProperties> backend = weir.in(WeirProperties::backends, name);
        Optional<Entry> backendDeadline = backend.get(BackendProperties::deadline);
        atMost(route.explicit(RouteProperties::deadline), backendDeadline, "the deadline of backend " + name);
        checkCalls(route, backend, " of backend " + name);
        Optional<Entry> deadline = route.get(RouteProperties::deadline).or(() -> backendDeadline);
        Section<RetryProperties> retry = route.in(RouteProperties::retry);
        atMost(retry.explicit(RetryProperties::attemptTimeout), deadline, DEADLINE);
        atMost(retry.explicit(RetryProperties::backoff), deadline, DEADLINE);
        new HedgesCheck(problems).check(route, backend, name, deadline);
        route.in(RouteProperties::rateLimit)
                .explicit(RateLimitProperties::shared)
                .filter(shared -> Boolean.TRUE.equals(shared.value())
                        && redis().get(RedisProperties::uri).isEmpty())
                .ifPresent(shared -> report(shared, "also weir.rate-limit.redis.uri, where all gateways count"));
        checkFallback(route.in(RouteProperties::fallback), name);
        Section<RouteAnswerProperties> answer = route.in(RouteProperties::answer);
        checkBody(answer.explicit(RouteAnswerProperties::body), answer.value(RouteAnswerProperties::status));
        checkHeaders(answer, RouteAnswerProperties::headers);
    }

    private void checkCalls(Section<RouteProperties> route, Section<BackendProperties> backend, String ofBackend) {
        Optional<Entry> calls = route.explicit(RouteProperties::maxConcurrentCalls);
        Section<BulkheadProperties> bulkhead = backend.in(BackendProperties::bulkhead);
        Optional<Entry> limit = bulkhead.get(BulkheadProperties::maxConcurrentCalls);
        if (route.value(RouteProperties::mode).orElse(Mode.REQUEST) == Mode.STREAM) {
            atMost(calls, backend.get(BackendProperties::maxStreams), "the max-streams" + ofBackend);
        } else if (limit.filter(ConsistencyCheck::isAuto).isPresent()) {
            atMost(
                    calls,
                    bulkhead.in(BulkheadProperties::limit).get(AdaptiveLimitProperties::max),
                    "the bulkhead.limit.max" + ofBackend);
        } else {
            atMost(calls, limit, "the max-concurrent-calls" + ofBackend);
        }
    }

    private void checkFallback(Section<FallbackProperties> fallback, String routesBackend) {
        Entry backend = fallback.explicit(FallbackProperties::backend).orElse(null);
        if (backend != null) {
            String name = String.valueOf(backend.value());
            Set<String> backends = weir.names(WeirProperties::backends).keySet();
            if (name.equals(routesBackend)) {
                report(backend, "another backend than the route's own");
            } else if (!backends.contains(name)) {
                problems.accept(
                        backend.problem(backend.text(), "unknown backend", PropertyNames.nearest(name, backends)));
            }
            Stream.of(
                            fallback.explicit(FallbackProperties::status),
                            fallback.explicit(FallbackProperties::contentType),
                            fallback.explicit(FallbackProperties::body))
                    .flatMap(Optional::stream)
                    .forEach(entry -> report(entry, NOT_BOTH));
            fallback.names(FallbackProperties::headers)
                    .forEach((header, location) -> problems.accept(ConfigurationProblem.expected(
                            location, fallback.pathOf(FallbackProperties::headers) + '.' + header, null, NOT_BOTH)));
        }
        checkBody(fallback.explicit(FallbackProperties::body), fallback.value(FallbackProperties::status));
        checkHeaders(fallback, FallbackProperties::headers);
        fallback.explicit(FallbackProperties::reasons).ifPresent(this::checkReasons);
    }

    private void checkBody(Optional<Entry> body, Optional<Integer> status) {
        body.filter(entry -> !String.valueOf(entry.value()).isEmpty())
                .ifPresent(entry -> status.filter(WITHOUT_BODY::contains)
                        .ifPresent(code ->
                                report(entry, "nothing, since an answer with status " + code + " has no body")));
    }

    /** Checks the names of fields of a configured answer: of a fallback, or of a route. */
    private <R extends Record> void checkHeaders(Section<R> answer, Component<R, Map<String, String>> headers) {
        String group = answer.path().substring(answer.path().lastIndexOf('.') + 1);
        answer.names(headers).forEach((header, location) -> {
            String lower = header.toLowerCase(Locale.ROOT);
            String why = !TOKEN.matcher(header).matches()
                    ? "not the name of a header field"
                    : "content-type".equals(lower)
                            ? "use " + group + ".content-type"
                            : GATEWAY_FIELDS.contains(lower) ? "the gateway sets this field" : null;
            if (why != null) {
                problems.accept(ConfigurationProblem.of(location, answer.pathOf(headers) + '.' + header, null, why));
            }
        });
    }

    private void checkReasons(Entry list) {
        if (list.value() instanceof List<?> reasons) {
            WITHOUT_FALLBACK.stream()
                    .filter(reasons::contains)
                    .forEach(reason ->
                            problems.accept(list.problem(reason.word(), "no fallback is possible for this reason")));
        }
    }

    /** Reports an explicit value that exceeds a limit; the limit may be a default. */
    private void atMost(Optional<Entry> explicit, Optional<Entry> limit, String limitName) {
        explicit.filter(entry -> !isDerived(entry.value()))
                .ifPresent(entry -> limit.map(Entry::value)
                        .filter(most -> compare(entry.value(), most) > 0)
                        .ifPresent(most -> report(entry, "at most " + limitName + ", " + displayText(most))));
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
