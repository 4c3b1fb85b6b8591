package io.weir.door;

import io.netty.handler.codec.http.HttpHeaders;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.filter.factory.AbstractGatewayFilterFactory.NameConfig;
import org.springframework.cloud.gateway.filter.factory.AbstractNameValueGatewayFilterFactory.NameValueConfig;
import org.springframework.cloud.gateway.filter.factory.AddRequestHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.AddResponseHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.GatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.PrefixPathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.PreserveHostHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.RemoveRequestHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.RemoveResponseHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.RewritePathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.SetPathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.SetRequestHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.SetResponseHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.StripPrefixGatewayFilterFactory;
import org.springframework.cloud.gateway.handler.predicate.HeaderRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.MethodRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.PathRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.handler.predicate.QueryRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.RoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.VersionRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.WeightRoutePredicateFactory;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.cloud.gateway.support.ConfigurationService;
import org.springframework.cloud.gateway.support.WeightConfig;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.util.StringUtils;
import org.springframework.web.util.UriTemplate;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;

/**
 * Compiles Spring Cloud Gateway's route definitions whose predicates and filters are the usual ones of an
 * edge proxy.
 *
 * <p>Spring Cloud Gateway's own factories bind the arguments, so that both doors read them in the same way.
 * If a user has replaced a factory, the routes that use it take the general door.
 */
public final class RouteCompiler {

    /**
     * The result of a compilation.
     *
     * @param matcher the predicates
     * @param path the filters of the path, in order
     * @param usesPathVariables whether a filter of the path uses the path's variables
     * @param request the filters of the request's head, in order
     * @param response the filters of the response's head, in order
     * @param preserveHost whether the backend sees the caller's {@code Host}
     * @param weights the route's predicates Weight
     * @param written all predicates as configured
     * @param why the reason why the general door serves the route; null if the compiled door does
     */
    public record Compilation(
            RouteMatcher matcher,
            List<WeightedGroups.Member> weights,
            List<RouteView.Written> written,
            List<CompiledRoute.PathFilter> path,
            boolean usesPathVariables,
            List<Consumer<HttpHeaders>> request,
            List<Consumer<HttpHeaders>> response,
            boolean preserveHost,
            @Nullable String why) {}

    /**
     * A replacement whose result is a path: it has no {@code ?}, which would begin a query, and no character
     * that must be encoded. Group references have Spring Cloud Gateway's form.
     */
    private static final Pattern PATH_REPLACEMENT =
            Pattern.compile("(?:[A-Za-z0-9/._~!&'()*+,;=:@-]|\\$\\\\?\\{\\w+}|\\$\\d)*");

    private static final Set<String> FRAMING = Set.of("content-length", "transfer-encoding");

    private final Map<String, RoutePredicateFactory<?>> predicates;
    private final Map<String, GatewayFilterFactory<?>> filters;
    private final ConfigurationService configuration;
    private final @Nullable String whyNotCompiled;
    private final PathPatternParser parser = new PathPatternParser();

    /**
     * Creates a compiler.
     *
     * @param predicates the predicate factories, by name
     * @param filters the filter factories, by name
     * @param configuration binds the arguments
     * @param whyNotCompiled the reason why no route can be compiled: a setting that makes Spring change every
     *     request; null if there is none
     */
    public RouteCompiler(
            Map<String, RoutePredicateFactory<?>> predicates,
            Map<String, GatewayFilterFactory<?>> filters,
            ConfigurationService configuration,
            @Nullable String whyNotCompiled) {
        this.predicates = Map.copyOf(predicates);
        this.filters = Map.copyOf(filters);
        this.configuration = configuration;
        this.whyNotCompiled = whyNotCompiled;
    }

    /** Compiles a route; a default filter precedes the route's own filter of the same position. */
    public Compilation compile(RouteDefinition definition, List<FilterDefinition> defaults) {
        Draft draft = new Draft();
        definition
                .getPredicates()
                .forEach(predicate -> addWeight(draft, String.valueOf(definition.getId()), predicate));
        definition.getPredicates().forEach(predicate -> draft.written.add(written(predicate)));
        if (whyNotCompiled != null) {
            // The match is left to Spring Cloud Gateway too, because the setting may change it.
            draft.isComplete = false;
            draft.notCompiled(whyNotCompiled);
            return draft.compilation();
        }
        definition.getPredicates().forEach(predicate -> addPredicate(draft, predicate));
        // Spring Cloud Gateway's order: by position, and default filters first for equal positions.
        List<FilterDefinition> own = definition.getFilters();
        for (int i = 0; i < Math.max(defaults.size(), own.size()); i++) {
            if (i < defaults.size()) {
                addFilter(draft, defaults.get(i));
            }
            if (i < own.size()) {
                addFilter(draft, own.get(i));
            }
        }
        return draft.compilation();
    }

    /** Both doors need the weights, so they are read even if the route is not compiled. */
    private void addWeight(Draft draft, String id, PredicateDefinition definition) {
        RoutePredicateFactory<?> factory = factory(definition);
        if (factory instanceof WeightRoutePredicateFactory
                && bind(factory, definition) instanceof WeightConfig weight
                && weight.getGroup() != null) {
            draft.weights.add(new WeightedGroups.Member(weight.getGroup(), id, weight.getWeight()));
        }
    }

    /** Version needs what WebFlux finds out before it looks for a route. */
    private RouteView.Written written(PredicateDefinition definition) {
        Class<?> type = factory(definition).getClass();
        boolean isKnown = (type.getPackage().equals(RoutePredicateFactory.class.getPackage())
                        && type != VersionRoutePredicateFactory.class)
                || type == HostPredicateFactory.class;
        return RouteView.Written.of(definition, isKnown);
    }

    private RoutePredicateFactory<?> factory(PredicateDefinition definition) {
        RoutePredicateFactory<?> factory = predicates.get(definition.getName());
        if (factory == null) {
            throw new IllegalArgumentException("predicate: " + definition.getName() + " (expected: a known one)");
        }
        return factory;
    }

    private void addPredicate(Draft draft, PredicateDefinition definition) {
        RoutePredicateFactory<?> factory = factory(definition);
        if (factory.getClass() == WeightRoutePredicateFactory.class) {
            return;
        }
        Object config = bind(factory, definition);
        if (factory.getClass() == PathRoutePredicateFactory.class
                && config instanceof PathRoutePredicateFactory.Config path) {
            draft.paths.add(path.getPatterns().stream().map(this::pattern).toList());
        } else if (factory.getClass() == MethodRoutePredicateFactory.class
                && config instanceof MethodRoutePredicateFactory.Config method) {
            draft.methods.add(Set.copyOf(Arrays.asList(method.getMethods())));
        } else if (factory instanceof HostPredicateFactory hosts
                && config instanceof HostRoutePredicateFactory.Config host
                && host.getPatterns().stream().noneMatch(pattern -> pattern.contains("{"))) {
            draft.others.add(hosts.compiled(host.getPatterns()));
        } else if (factory.getClass() == HeaderRoutePredicateFactory.class
                && config instanceof HeaderRoutePredicateFactory.Config header
                && header.getHeader() != null) {
            draft.others.add(RouteMatcher.header(header.getHeader(), header.getRegexp()));
        } else if (factory.getClass() == QueryRoutePredicateFactory.class
                && config instanceof QueryRoutePredicateFactory.Config query
                && query.getPredicate() == null
                && query.getParam() != null) {
            draft.others.add(RouteMatcher.query(query.getParam(), query.getRegexp()));
        } else {
            draft.isComplete = false;
            draft.notCompiled("predicate " + definition.getName());
        }
    }

    private PathPattern pattern(String pattern) {
        return parser.parse(pattern);
    }

    private void addFilter(Draft draft, FilterDefinition definition) {
        GatewayFilterFactory<?> factory = filters.get(definition.getName());
        if (factory == null) {
            throw new IllegalArgumentException("filter: " + definition.getName() + " (expected: a known one)");
        }
        Object config = bind(factory, definition);
        Class<?> type = factory.getClass();
        boolean known = addPathFilter(draft, type, config) || addHeaderFilter(draft, type, config);
        if (!known && type == PreserveHostHeaderGatewayFilterFactory.class) {
            draft.preserveHost = true;
            known = true;
        }
        if (!known) {
            draft.notCompiled("filter " + definition.getName());
        }
    }

    private static boolean addPathFilter(Draft draft, Class<?> type, Object config) {
        if (type == StripPrefixGatewayFilterFactory.class
                && config instanceof StripPrefixGatewayFilterFactory.Config strip) {
            int parts = Math.max(0, strip.getParts());
            draft.path.add((path, variables) -> stripPrefix(path, parts));
        } else if (type == PrefixPathGatewayFilterFactory.class
                && config instanceof PrefixPathGatewayFilterFactory.Config prefix
                && !draft.prefixed) {
            UriTemplate template = new UriTemplate(String.valueOf(prefix.getPrefix()));
            draft.prefixed = true;
            draft.usesPathVariables |= !template.getVariableNames().isEmpty();
            draft.path.add(
                    (path, variables) -> absolute(template.expand(variables).getRawPath() + path));
        } else if (type == SetPathGatewayFilterFactory.class
                && config instanceof SetPathGatewayFilterFactory.Config set) {
            UriTemplate template = new UriTemplate(String.valueOf(set.getTemplate()));
            draft.usesPathVariables |= !template.getVariableNames().isEmpty();
            draft.path.add(
                    (path, variables) -> absolute(template.expand(variables).getRawPath()));
        } else if (type == RewritePathGatewayFilterFactory.class
                && config instanceof RewritePathGatewayFilterFactory.Config rewrite
                && PATH_REPLACEMENT
                        .matcher(String.valueOf(rewrite.getReplacement()))
                        .matches()) {
            Pattern pattern = Pattern.compile(String.valueOf(rewrite.getRegexp()));
            String replacement = String.valueOf(rewrite.getReplacement()).replace("$\\", "$");
            draft.path.add(
                    (path, variables) -> encodeAgain(pattern.matcher(path).replaceAll(replacement)));
        } else {
            return false;
        }
        return true;
    }

    private static boolean addHeaderFilter(Draft draft, Class<?> type, Object config) {
        if (config instanceof NameConfig removed
                && type == RemoveResponseHeaderGatewayFilterFactory.class
                && FRAMING.contains(String.valueOf(removed.getName()).toLowerCase(Locale.ROOT))) {
            // Reactor Netty would frame the response again, and differently for each way of writing.
            return false;
        }
        if (config instanceof NameValueConfig pair) {
            String name = pair.getName();
            String value = pair.getValue();
            if (name == null || value == null || value.contains("{")) {
                // The value contains the path's variables.
                return false;
            }
            if (FRAMING.contains(name.toLowerCase(Locale.ROOT))) {
                return false;
            }
            if (type == AddRequestHeaderGatewayFilterFactory.class) {
                draft.request.add(headers -> headers.add(name, value));
            } else if (type == SetRequestHeaderGatewayFilterFactory.class) {
                draft.request.add(headers -> headers.set(name, value));
            } else if (type == SetResponseHeaderGatewayFilterFactory.class) {
                draft.response.add(headers -> headers.set(name, value));
            } else if (type == AddResponseHeaderGatewayFilterFactory.class) {
                boolean override =
                        !(config instanceof AddResponseHeaderGatewayFilterFactory.Config add) || add.isOverride();
                draft.response.add(headers -> {
                    if (override) {
                        headers.add(name, value);
                    } else if (headers.getAll(name).stream().noneMatch(StringUtils::hasText)) {
                        headers.add(name, value);
                    }
                });
            } else {
                return false;
            }
            return true;
        }
        if (config instanceof NameConfig one && one.getName() != null) {
            String name = one.getName();
            if (type == RemoveRequestHeaderGatewayFilterFactory.class) {
                draft.request.add(headers -> headers.remove(name));
                return true;
            }
            if (type == RemoveResponseHeaderGatewayFilterFactory.class) {
                draft.response.add(headers -> headers.remove(name));
                return true;
            }
        }
        return false;
    }

    /** Requires an absolute path, as Spring does for a request that a filter has changed. */
    private static String absolute(String path) {
        if (!path.startsWith("/")) {
            throw new IllegalArgumentException("path: " + path + " (expected: to begin with a slash)");
        }
        return path;
    }

    /** Encodes a path again, because a regular expression may have split an escape. */
    private static String encodeAgain(String path) {
        String rewritten = absolute(path);
        return rewritten.indexOf('%') < 0
                ? rewritten
                : URI.create("backend://any" + rewritten).getRawPath();
    }

    /** Spring Cloud Gateway's StripPrefix. */
    private static String stripPrefix(String path, int parts) {
        String[] segments = StringUtils.tokenizeToStringArray(path, "/");
        StringBuilder stripped = new StringBuilder("/");
        for (int i = parts; i < segments.length; i++) {
            if (stripped.length() > 1) {
                stripped.append('/');
            }
            stripped.append(segments[i]);
        }
        if (stripped.length() > 1 && path.endsWith("/")) {
            stripped.append('/');
        }
        return stripped.toString();
    }

    private <C> C bind(RoutePredicateFactory<C> factory, PredicateDefinition definition) {
        return configuration
                .with(factory)
                .name(definition.getName())
                .properties(definition.getArgs())
                .bind();
    }

    private <C> C bind(GatewayFilterFactory<C> factory, FilterDefinition definition) {
        return configuration
                .with(factory)
                .name(definition.getName())
                .properties(definition.getArgs())
                .bind();
    }

    /** Collects the parts of a compilation. */
    private static final class Draft {
        private final List<List<PathPattern>> paths = new ArrayList<>();
        private final List<WeightedGroups.Member> weights = new ArrayList<>();
        private final List<RouteView.Written> written = new ArrayList<>();
        private final List<Set<HttpMethod>> methods = new ArrayList<>();
        private final List<Predicate<ServerHttpRequest>> others = new ArrayList<>();
        private final List<CompiledRoute.PathFilter> path = new ArrayList<>();
        private final List<Consumer<HttpHeaders>> request = new ArrayList<>();
        private final List<Consumer<HttpHeaders>> response = new ArrayList<>();
        private boolean isComplete = true;
        private boolean prefixed;
        private boolean usesPathVariables;
        private boolean preserveHost;
        private @Nullable String why;

        void notCompiled(String reason) {
            if (why == null) {
                why = reason;
            }
        }

        Compilation compilation() {
            return new Compilation(
                    new RouteMatcher(List.copyOf(paths), List.copyOf(methods), List.copyOf(others), isComplete),
                    List.copyOf(weights),
                    List.copyOf(written),
                    List.copyOf(path),
                    usesPathVariables,
                    List.copyOf(request),
                    // An outer filter changes the response after the filters inside it.
                    List.copyOf(response.reversed()),
                    preserveHost,
                    why);
        }
    }
}
