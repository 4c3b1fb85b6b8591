package io.weir.config.check;

import io.weir.config.check.GatewayFactories.ForeignArguments;
import io.weir.config.check.RawTree.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.cloud.gateway.filter.FilterDefinition;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/** Checks the predicates and filters of routes with Spring Cloud Gateway's own factories. */
final class DefinitionsCheck {

    /** Weir's replacements for these filters; {@code %1$s} is the backend, {@code %2$s} the route. */
    private static final Map<String, String> REPLACEMENTS = Map.of(
            "Retry", "weir.routes.%2$s.retry and weir.backends.%1$s.retry-budget",
            "CircuitBreaker", "weir.backends.%1$s.circuit-breaker and weir.routes.%2$s.fallback",
            "SpringCloudCircuitBreaker", "weir.backends.%1$s.circuit-breaker and weir.routes.%2$s.fallback",
            "FallbackHeaders", "weir.routes.%2$s.fallback",
            "RequestSize", "weir.edge.max-body-size");

    /** The class names of Spring Cloud Gateway's factories of predicates and filters. */
    private static final List<String> FACTORIES = List.of(
            "org.springframework.cloud.gateway.handler.predicate.%sRoutePredicateFactory",
            "org.springframework.cloud.gateway.filter.factory.%sGatewayFilterFactory",
            "org.springframework.cloud.gateway.filter.factory.cache.%sGatewayFilterFactory",
            "org.springframework.cloud.gateway.filter.factory.rewrite.%sGatewayFilterFactory");

    private static final String RATE_LIMITER = "RequestRateLimiter";

    private static final Set<String> PROPERTIES = Set.of("name", "args");

    private final Environment environment;
    private final RoutesBinder binder;
    private final Supplier<GatewayFactories> factories;
    private final Consumer<ConfigurationProblem> problems;
    private final List<ConfigurationProblem> warnings = new ArrayList<>();

    DefinitionsCheck(
            Environment environment, Supplier<GatewayFactories> factories, Consumer<ConfigurationProblem> problems) {
        this.environment = environment;
        this.binder = new RoutesBinder(environment);
        this.factories = factories;
        this.problems = problems;
    }

    /** Checks a list of predicates. Returns all of them, or nothing if one is invalid. */
    Optional<List<ValidDefinition>> predicates(RawTree list) {
        List<Definition> definitions = definitions(list);
        List<ValidDefinition> valid = new ArrayList<>();
        for (Definition definition : definitions) {
            if (!definition.hasArguments() && definition.text() != null) {
                report(definition, "expected: a name and arguments, such as Path=/orders/**", null);
            } else if (isKnown(
                    definition,
                    "predicate",
                    factories.get().predicates(),
                    factories.get().filters())) {
                create(definition, factories.get()::makePredicate)
                        .filter(this::isInLowerCase)
                        .ifPresent(valid::add);
            }
        }
        return valid.size() == definitions.size() ? Optional.of(valid) : Optional.empty();
    }

    /** Whether the hosts of a predicate Host are in lower case, apart from their variables. */
    private boolean isInLowerCase(ValidDefinition predicate) {
        if (predicate.config() instanceof HostRoutePredicateFactory.Config host
                && host.getPatterns().stream().anyMatch(DefinitionsCheck::hasCapitalLetter)) {
            report(predicate.definition(), "expected: hosts in lower case; they match hosts in any case", null);
            return false;
        }
        return true;
    }

    private static boolean hasCapitalLetter(String pattern) {
        int depth = 0;
        for (int i = 0; i < pattern.length(); i++) {
            char c = pattern.charAt(i);
            depth += c == '{' ? 1 : c == '}' ? -1 : 0;
            if (depth == 0 && Character.isUpperCase(c)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Checks a route's list of filters and returns the valid ones. {@code backend} is null for routes without
     * backend.
     */
    List<ValidDefinition> filters(RawTree list, @Nullable String backend, String route) {
        return definitions(list).stream()
                .flatMap(definition -> filter(definition, backend, route).stream())
                .toList();
    }

    /** Checks one filter and returns it if it is valid. */
    Optional<ValidDefinition> filter(RawTree node, @Nullable String backend, String route) {
        return definition(node).flatMap(definition -> filter(definition, backend, route));
    }

    private Optional<ValidDefinition> filter(Definition definition, @Nullable String backend, String route) {
        String replacement = backend == null ? null : REPLACEMENTS.get(definition.name());
        if (replacement != null) {
            report(definition, "not on a backend:// route; use " + replacement.formatted(backend, route), null);
        } else if (isKnown(
                definition, "filter", factories.get().filters(), factories.get().predicates())) {
            return create(definition, factories.get()::makeFilter)
                    .filter(valid -> backend == null || isWritable(valid, route));
        }
        return Optional.empty();
    }

    /** Whether a filter may write its field. */
    private boolean isWritable(ValidDefinition filter, String route) {
        String why = RequestFieldFilters.problem(filter, route);
        if (why != null) {
            report(filter.definition(), "not on a backend:// route: " + why, null);
        }
        return why == null;
    }

    /** Checks that a backend gets the host that a route's filters set. */
    void checkHost(List<ValidDefinition> filters) {
        RequestFieldFilters.lostHosts(filters)
                .forEach(filter -> report(
                        filter.definition(),
                        "not on a backend:// route without the filter PreserveHostHeader: the backend gets its own name",
                        null));
    }

    /** Checks that a route provides the variables of a filter. Otherwise the filter fails at each request. */
    void checkVariables(ValidDefinition filter, TemplateVariables variables, String route) {
        variables
                .problem(filter.config())
                .ifPresent(why -> report(
                        filter.definition(),
                        filter.definition().hasSecretArguments() ? "bad variables" : "route " + route + ": " + why,
                        null));
    }

    private boolean isKnown(Definition definition, String kind, Set<String> known, Set<String> others) {
        String name = definition.name();
        if (known.contains(name)) {
            return true;
        }
        if (name.isBlank()) {
            report(definition, "expected: the name of a " + kind, null);
            return false;
        }
        if (others.contains(name)) {
            report(definition, (kind.equals("filter") ? "a predicate" : "a filter") + ", not a " + kind, null);
        } else if (name.equals(RATE_LIMITER)) {
            report(
                    definition,
                    "needs a RateLimiter, which only an extension can bring; or use weir.routes.<id>.rate-limit",
                    null);
        } else if (FACTORIES.stream().anyMatch(type -> ClassUtils.isPresent(type.formatted(name), null))) {
            report(definition, name + " is disabled, or needs a library that this gateway does not contain", null);
        } else if (factories.get().extensionProblems().isEmpty()) {
            // Otherwise it may be the name of an extension that cannot be loaded, which is reported.
            report(definition, "unknown " + kind, PropertyNames.nearest(name, known));
        }
        return false;
    }

    private Optional<ValidDefinition> create(
            Definition definition, BiFunction<String, Map<String, String>, Object> make) {
        try {
            return Optional.of(new ValidDefinition(definition, make.apply(definition.name(), definition.args())));
        } catch (UncreatedFactoryException e) {
            if (!e.isForWantOfABean()) {
                report(definition, String.valueOf(e.getMessage()), null);
                return Optional.empty();
            }
            warnings.add(ConfigurationProblem.of(
                    definition.location(), definition.path(), definition.toString(), "not checked: " + e.getMessage()));
            return Optional.of(new ValidDefinition(definition, new ForeignArguments(definition)));
        } catch (RuntimeException | LinkageError e) {
            String error = definition.hasSecretArguments() ? "bad arguments" : SpringErrorText.of(e);
            report(definition, error + "; expected: " + factories.get().usage(definition.name()), null);
            return Optional.empty();
        }
    }

    private void report(Definition definition, String why, @Nullable String nearest) {
        problems.accept(new ConfigurationProblem(
                definition.location(), definition.path(), definition.toString(), why, nearest));
    }

    /** The definitions that only a running gateway can check. */
    List<ConfigurationProblem> warnings() {
        return List.copyOf(warnings);
    }

    // ---------------------------------------------------------------- reading

    private List<Definition> definitions(RawTree list) {
        List<Definition> definitions = new ArrayList<>();
        for (Setting setting : list.settings()) {
            for (String text : StringUtils.commaDelimitedListToStringArray(setting.text())) {
                definitions.add(parseShortcut(text, setting));
            }
        }
        list.children().forEach(child -> {
            if (child.isIndex()) {
                definition(child).ifPresent(definitions::add);
            } else {
                problems.accept(child.expected("a list"));
            }
        });
        return definitions;
    }

    private Optional<Definition> definition(RawTree node) {
        Optional<Setting> shortcut = RawTree.effective(List.of(node));
        return shortcut.isPresent()
                ? shortcut.map(setting -> parseShortcut(setting.text(), setting))
                : bindExpanded(node);
    }

    private Definition parseShortcut(String text, Setting setting) {
        // Both kinds have the same syntax, except that a predicate requires arguments.
        FilterDefinition parsed = new FilterDefinition(environment.resolvePlaceholders(text));
        return new Definition(
                String.valueOf(parsed.getName()), parsed.getArgs(), text, setting.path(), setting.location());
    }

    private Optional<Definition> bindExpanded(RawTree node) {
        node.children()
                .filter(child -> !PROPERTIES.contains(child.name()))
                .forEach(child -> problems.accept(
                        child.problem(null, "unknown property", PropertyNames.nearest(child.name(), PROPERTIES))));
        FilterDefinition bound = binder.bind(
                        ConfigurationPropertyName.adapt(node.path(), '.'), Bindable.of(FilterDefinition.class))
                .orElseGet(FilterDefinition::new);
        if (bound.getName() == null || bound.getName().isBlank()) {
            problems.accept(ConfigurationProblem.of(node.location(), node.path() + ".name", null, "missing"));
            return Optional.empty();
        }
        return Optional.of(new Definition(bound.getName(), bound.getArgs(), null, node.path(), node.location()));
    }
}
