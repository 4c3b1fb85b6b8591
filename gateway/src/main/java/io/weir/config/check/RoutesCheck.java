package io.weir.config.check;

import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.RawTree.Setting;
import io.weir.config.check.ValidValues.Entry;
import java.lang.annotation.Annotation;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.cloud.gateway.support.WeightConfig;
import org.springframework.core.env.Environment;

/**
 * Checks Spring Cloud Gateway's routes: their properties, their URIs, and, with {@link DefinitionsCheck},
 * their predicates and filters.
 */
final class RoutesCheck {

    /** The prefix of Spring Cloud Gateway 5's properties. */
    static final String PREFIX = "spring.cloud.gateway.server.webflux";

    private static final String BACKEND_SCHEME = "backend";
    private static final Set<String> UNPROTECTED = Set.of("http", "https", "ws", "wss");
    /**
     * Routes without a backend: to a handler in the gateway, or to a filter that answers the request itself.
     */
    private static final Set<String> WITHOUT_BACKEND = Set.of("forward", "no");

    private static final List<String> PROPERTIES =
            List.of("id", "uri", "predicates", "filters", "metadata", "order", "enabled");
    /** The filters after which the path is no longer the received one. */
    private static final Set<String> PATH_FILTERS = Set.of("PrefixPath", "RewritePath", "SetPath", "StripPrefix");

    private static final String A_LIST = "a list";
    private static final int MAX_MISSPELLING_DISTANCE = 2;
    /** Spring Cloud's scheme; here the same as {@code backend}. */
    private static final String LOAD_BALANCED = "lb";

    /** Prefixes of earlier versions of Spring Cloud Gateway, and of its other servers. */
    private static final List<String> OTHER_PREFIXES = List.of(
            "spring.cloud.gateway",
            "spring.cloud.gateway.mvc",
            "spring.cloud.gateway.server.mvc",
            "spring.cloud.gateway.server.webmvc");

    /**
     * A route.
     *
     * @param id its id; null if it has none
     * @param backend the backend's name in its URI, which may be unknown; null if the URI has another scheme
     */
    record Route(@Nullable String id, @Nullable String backend, String path, SourceLocation location) {}

    /** A route with valid predicates, its template variables and its valid filters. */
    private record ResolvedRoute(
            String id,
            boolean hasBackend,
            TemplateVariables variables,
            List<ValidDefinition> filters,
            List<String> weightedGroups) {}

    private static final Set<String> TIMEOUTS = Set.of("response-timeout", "connect-timeout");

    private final Environment environment;
    private final Section<WeirProperties> weir;
    private final DefinitionsCheck definitions;
    private final Consumer<ConfigurationProblem> problems;
    private final List<Route> routes = new ArrayList<>();
    private final List<ResolvedRoute> resolvedRoutes = new ArrayList<>();
    private final Map<String, SourceLocation> ids = new HashMap<>();

    RoutesCheck(
            Environment environment,
            Section<WeirProperties> weir,
            DefinitionsCheck definitions,
            Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.weir = weir;
        this.definitions = definitions;
        this.problems = problems;
    }

    /** Checks all routes and default filters. Returns the routes. */
    List<Route> check(RawTree root) {
        OTHER_PREFIXES.forEach(prefix -> reportOtherPrefix(root, prefix));
        RawTree.at(root, PREFIX).stream().flatMap(RawTree::children).forEach(this::reportMisspelling);
        for (RawTree route : elements(root, "routes")) {
            checkRoute(route);
        }
        boolean protects = routes.stream().anyMatch(route -> route.backend() != null);
        List<ValidDefinition> defaults = elements(root, "default-filters").stream()
                .flatMap(filter -> definitions.filter(filter, protects ? "<name>" : null, "<id>").stream())
                .toList();
        for (ResolvedRoute route : resolvedRoutes) {
            List<ValidDefinition> filters =
                    Stream.concat(route.filters().stream(), defaults.stream()).toList();
            filters.forEach(filter -> definitions.checkVariables(filter, route.variables(), route.id()));
            checkPreservedPath(route.id(), filters);
            if (route.hasBackend()) {
                definitions.checkHost(filters);
            }
            checkSticky(route);
        }
        return routes;
    }

    /** A sticky route is in a weighted group, and all routes of the group have the same key. */
    private void checkSticky(ResolvedRoute route) {
        Optional<Entry> sticky = sticky(route.id());
        if (route.weightedGroups().isEmpty()) {
            sticky.ifPresent(entry -> report(entry, "also the predicate Weight, since it chooses a route of a group"));
            return;
        }
        resolvedRoutes.stream()
                .filter(other -> !other.id().equals(route.id())
                        && other.weightedGroups().stream().anyMatch(route.weightedGroups()::contains))
                .filter(other -> !sticky(other.id())
                        .map(Entry::value)
                        .equals(sticky(route.id()).map(Entry::value)))
                .findFirst()
                .ifPresent(other -> sticky.ifPresent(
                        entry -> report(entry, "the same for route " + other.id() + " of the same weighted group")));
    }

    private Optional<Entry> sticky(String id) {
        return weir.in(WeirProperties::routes, id).explicit(RouteProperties::sticky);
    }

    private void report(Entry entry, String expected) {
        problems.accept(entry.expected(expected));
    }

    private void checkPreservedPath(String id, List<ValidDefinition> filters) {
        weir.in(WeirProperties::routes, id)
                .explicit(RouteProperties::preservePath)
                .filter(entry -> Boolean.TRUE.equals(entry.value()))
                .ifPresent(entry -> filters.stream()
                        .map(filter -> filter.definition().name())
                        .filter(PATH_FILTERS::contains)
                        .forEach(name -> problems.accept(
                                entry.expected("false, because the filter " + name + " changes the path"))));
    }

    private void reportOtherPrefix(RawTree root, String prefix) {
        for (String property : List.of("routes", "default-filters")) {
            for (RawTree node : RawTree.at(root, prefix + '.' + property)) {
                problems.accept(node.problem("not read by this version; expected: " + PREFIX + '.' + property));
            }
        }
    }

    private void reportMisspelling(RawTree child) {
        @Nullable String nearest = PropertyNames.nearest(child.name(), List.of("routes", "default-filters"));
        if (nearest != null
                && !PropertyNames.uniform(nearest).equals(PropertyNames.uniform(child.name()))
                && PropertyNames.editDistance(PropertyNames.uniform(nearest), PropertyNames.uniform(child.name()))
                        <= MAX_MISSPELLING_DISTANCE) {
            problems.accept(child.problem(null, "unknown property", nearest));
        }
    }

    /** The elements of a list. The source with the highest precedence provides the whole list. */
    private List<RawTree> elements(RawTree root, String property) {
        List<Setting> all = RawTree.at(root, PREFIX + '.' + property).stream()
                .flatMap(RawTree::allSettings)
                .toList();
        int first = all.stream().mapToInt(Setting::precedence).min().orElse(0);
        RawTree only = RawTree.root();
        all.stream().filter(setting -> setting.precedence() == first).forEach(only::add);
        List<RawTree> nodes = RawTree.at(only, PREFIX + '.' + property);
        for (RawTree node : nodes) {
            node.settings().stream()
                    .filter(setting -> !setting.text().isEmpty())
                    .forEach(setting -> problems.accept(setting.expected(A_LIST)));
            node.children().filter(child -> !child.isIndex()).forEach(child -> problems.accept(child.expected(A_LIST)));
        }
        return nodes.stream()
                .flatMap(RawTree::children)
                .filter(RawTree::isIndex)
                .sorted(Comparator.comparing(child -> Integer.valueOf(child.name())))
                .toList();
    }

    private void checkRoute(RawTree node) {
        for (Setting setting : node.settings()) {
            problems.accept(setting.expected("properties: " + String.join(", ", PROPERTIES)));
            return;
        }
        node.children()
                .filter(child -> PROPERTIES.stream().noneMatch(name -> isNamed(child, name)))
                .forEach(child -> problems.accept(child.problem(
                        child.value(), "unknown property", PropertyNames.nearest(child.name(), PROPERTIES))));
        @Nullable String id = checkId(node);
        @Nullable String backend = checkUri(node);
        routes.add(new Route(id, backend, node.path(), node.location()));
        checkConversion(node, "order", Integer.class);
        checkConversion(node, "enabled", Boolean.class);
        if (backend != null) {
            checkMetadata(node, backend, id == null ? "<id>" : id);
        }
        List<RawTree> predicates = RawTree.find(List.of(node), "predicates");
        if (predicates.stream()
                .flatMap(RawTree::allSettings)
                .allMatch(setting -> setting.text().isEmpty())) {
            problems.accept(ConfigurationProblem.of(
                    predicates.isEmpty()
                            ? node.location()
                            : predicates.getFirst().location(),
                    node.path() + ".predicates",
                    null,
                    "missing; expected: at least one, such as Path=/orders/**"));
        }
        String displayId = id == null ? "<id>" : id;
        List<Optional<List<ValidDefinition>>> predicateResults =
                predicates.stream().map(definitions::predicates).toList();
        List<ValidDefinition> filters = RawTree.find(List.of(node), "filters").stream()
                .flatMap(list -> definitions.filters(list, backend, displayId).stream())
                .toList();
        if (predicateResults.stream().allMatch(Optional::isPresent)) {
            List<Object> arguments = predicateResults.stream()
                    .flatMap(Optional::stream)
                    .flatMap(List::stream)
                    .map(ValidDefinition::config)
                    .toList();
            List<String> weightedGroups = arguments.stream()
                    .filter(WeightConfig.class::isInstance)
                    .map(config -> ((WeightConfig) config).getGroup())
                    .toList();
            resolvedRoutes.add(new ResolvedRoute(
                    displayId, backend != null, new TemplateVariables(arguments), filters, weightedGroups));
        }
    }

    private static boolean isNamed(RawTree child, String name) {
        return !child.isBracketed() && PropertyNames.uniform(child.name()).equals(PropertyNames.uniform(name));
    }

    private @Nullable String checkId(RawTree node) {
        Setting setting = value(node, "id").orElse(null);
        if (setting == null) {
            problems.accept(ConfigurationProblem.of(
                    node.location(), node.path() + ".id", null, "missing; expected: a unique name"));
            return null;
        }
        String id = environment.resolvePlaceholders(setting.text());
        SourceLocation first = ids.putIfAbsent(id, setting.location());
        if (first != null) {
            problems.accept(setting.problem(id, "also the id of the route in " + first));
        }
        return id;
    }

    private static Optional<Setting> value(RawTree node, String name) {
        return RawTree.effective(RawTree.find(List.of(node), name))
                .filter(setting -> !setting.text().isBlank());
    }

    private void checkConversion(RawTree node, String name, Class<?> type) {
        PropertySchema.ValueSchema schema =
                new PropertySchema.ValueSchema(type, () -> ExpectedValue.of(type, new Annotation[0], List.of()));
        value(node, name).ifPresent(setting -> {
            try {
                PropertiesCheck.convert(schema, environment.resolvePlaceholders(setting.text()));
            } catch (BindException e) {
                problems.accept(setting.expected(schema.expected().typeAndRange()));
            }
        });
    }

    private void checkMetadata(RawTree node, String backend, String id) {
        for (RawTree cors : RawTree.find(RawTree.find(List.of(node), "metadata"), "cors")) {
            problems.accept(cors.problem("without effect; use weir.routes." + id + ".cors"));
        }
        for (String timeout : TIMEOUTS) {
            for (RawTree metadata : RawTree.find(RawTree.find(List.of(node), "metadata"), timeout)) {
                String equivalent = "connect-timeout".equals(timeout)
                        ? "weir.backends." + backend + ".connection.connect-timeout"
                        : "weir.routes." + id + ".deadline or weir.backends." + backend + ".deadline";
                problems.accept(
                        metadata.problem(metadata.value(), "without effect on a backend:// route; use " + equivalent));
            }
        }
    }

    // ---------------------------------------------------------------- URI

    /** The backend's name in a route's URI; null if the URI is invalid or has another scheme. */
    private @Nullable String checkUri(RawTree node) {
        Setting setting = value(node, "uri").orElse(null);
        if (setting == null) {
            problems.accept(ConfigurationProblem.of(
                    node.location(), node.path() + ".uri", null, "missing; expected: backend://<name>"));
            return null;
        }
        String text = environment.resolvePlaceholders(setting.text());
        URI uri;
        try {
            uri = new URI(text);
        } catch (URISyntaxException e) {
            problems.accept(setting.expected(text, "a URI, such as backend://<name>"));
            return null;
        }
        if (BACKEND_SCHEME.equals(uri.getScheme()) || LOAD_BALANCED.equals(uri.getScheme())) {
            return checkUri(setting, text, uri);
        }
        reportOtherScheme(setting, text, String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT));
        return null;
    }

    private @Nullable String checkUri(Setting setting, String text, URI uri) {
        String authority = uri.getRawAuthority();
        String prefix = uri.getScheme() + "://";
        if (authority == null) {
            problems.accept(setting.expected(text, prefix + "<name>"));
            return null;
        }
        String name = uri.getHost() != null ? uri.getHost() : authority;
        Set<String> backends = weir.names(WeirProperties::backends).keySet();
        if (!text.equals(prefix + name)) {
            problems.accept(setting.expected(
                    text, prefix + "<name>; a port belongs to weir.backends.<name>.uri, a path to filters"));
        } else if (!backends.contains(name)) {
            @Nullable String nearest = PropertyNames.nearest(name, backends);
            problems.accept(setting.problem(text, "unknown backend", nearest == null ? null : prefix + nearest));
        }
        return name;
    }

    private void reportOtherScheme(Setting setting, String text, String scheme) {
        if (WITHOUT_BACKEND.contains(scheme)) {
            return;
        }
        String why;
        @Nullable String nearest = null;
        if (UNPROTECTED.contains(scheme)) {
            if (weir.value(WeirProperties::allowUnprotectedRoutes).orElse(false)) {
                return;
            }
            why =
                    "without a compartment of its own; expected: backend://<name>, or weir.allow-unprotected-routes: true";
        } else {
            why = "expected: backend://<name>";
            nearest = PropertyNames.nearest(scheme, List.of(BACKEND_SCHEME)) == null ? null : BACKEND_SCHEME + "://";
        }
        problems.accept(setting.problem(text, why, nearest));
    }
}
