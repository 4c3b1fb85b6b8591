package io.weir.config.check;

import io.weir.config.check.GatewayFactories.ForeignArguments;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.cloud.gateway.filter.factory.AbstractNameValueGatewayFilterFactory.NameValueConfig;
import org.springframework.cloud.gateway.filter.factory.PrefixPathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.SetPathGatewayFilterFactory;
import org.springframework.cloud.gateway.filter.factory.SetRequestHostHeaderGatewayFilterFactory;
import org.springframework.cloud.gateway.handler.predicate.HostRoutePredicateFactory;
import org.springframework.cloud.gateway.handler.predicate.PathRoutePredicateFactory;
import org.springframework.web.util.UriComponentsBuilder;
import org.springframework.web.util.UriTemplate;

/**
 * The template variables that a route's Path and Host predicates always provide, regardless of the pattern
 * that matches.
 */
final class TemplateVariables {

    /** {@code {name}}, {@code {name:[a-z]{2}}}, {@code {*name}}. */
    private static final Pattern VARIABLE = Pattern.compile("\\{(\\*?[^:{}/]+)(?::(?:[^{}]|\\{[^{}]*})*)?}");

    /** Whether a predicate of an extension may provide further variables. */
    private final boolean isOpen;
    /** The variables with example values. */
    private final Map<String, String> examples = new TreeMap<>();

    /** The variables of predicates, given as their bound arguments. */
    TemplateVariables(Collection<Object> predicates) {
        isOpen = predicates.stream().anyMatch(ForeignArguments.class::isInstance);
        for (Object predicate : predicates) {
            if (predicate instanceof PathRoutePredicateFactory.Config path) {
                add(path.getPatterns());
            } else if (predicate instanceof HostRoutePredicateFactory.Config host) {
                add(host.getPatterns());
            }
        }
    }

    private void add(List<String> patterns) {
        List<Map<String, String>> all =
                patterns.stream().map(TemplateVariables::ofPattern).toList();
        for (Map<String, String> one : all) {
            one.forEach((name, example) -> {
                if (all.stream().allMatch(other -> other.containsKey(name))) {
                    examples.put(name, example);
                }
            });
        }
    }

    private static Map<String, String> ofPattern(String pattern) {
        Map<String, String> variables = new HashMap<>();
        for (String name : names(pattern)) {
            // {*name} matches the rest of the path, including slashes.
            boolean rest = name.startsWith("*");
            variables.put(rest ? name.substring(1) : name, rest ? "/x" : "x");
        }
        return variables;
    }

    /** The problem of a filter that would fail at requests. */
    Optional<String> problem(Object filter) {
        return switch (filter) {
            case SetPathGatewayFilterFactory.Config set -> ofPath(set.getTemplate());
            case PrefixPathGatewayFilterFactory.Config prefix -> ofPath(prefix.getPrefix());
            case NameValueConfig header -> ofValue(header.getValue());
            case SetRequestHostHeaderGatewayFilterFactory.Config host -> ofValue(host.getHost());
            default -> Optional.empty();
        };
    }

    private Optional<String> ofPath(@Nullable String template) {
        return problem(template, text -> new UriTemplate(text).expand(examples))
                .or(() -> String.valueOf(template).startsWith("/")
                                || startsWithRest(template)
                                || (isOpen && String.valueOf(template).startsWith("{"))
                        ? Optional.empty()
                        : Optional.of("expected: a path that starts with /"));
    }

    private boolean startsWithRest(@Nullable String template) {
        return examples.entrySet().stream()
                .anyMatch(variable -> variable.getValue().startsWith("/")
                        && String.valueOf(template).startsWith('{' + variable.getKey() + '}'));
    }

    private Optional<String> ofValue(@Nullable String value) {
        return problem(
                value, text -> UriComponentsBuilder.fromPath(text).build().expand(examples));
    }

    /** Expands the template as Spring Cloud Gateway does. */
    private Optional<String> problem(@Nullable String template, Consumer<String> expand) {
        if (template == null || template.indexOf('{') < 0 || isOpen) {
            return Optional.empty();
        }
        try {
            expand.accept(template);
            return Optional.empty();
        } catch (IllegalArgumentException e) {
            Set<String> missing = new TreeSet<>(names(template));
            missing.removeAll(examples.keySet());
            return Optional.of((missing.isEmpty() ? e.getMessage() : "no value for " + braced(missing))
                    + " in every request; expected: "
                    + (examples.isEmpty() ? "no variable" : "of variables " + braced(examples.keySet())));
        }
    }

    private static String braced(Set<String> names) {
        return names.stream().map(name -> '{' + name + '}').collect(Collectors.joining(", "));
    }

    private static Set<String> names(String template) {
        return VARIABLE.matcher(template)
                .results()
                .map(variable -> variable.group(1))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }
}
