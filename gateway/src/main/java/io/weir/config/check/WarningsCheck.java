package io.weir.config.check;

import io.weir.authorization.AuthorizeProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesCheck.Route;
import io.weir.fallback.FallbackProperties;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.cloud.gateway.handler.predicate.PredicateDefinition;
import org.springframework.cloud.gateway.route.RouteDefinition;
import org.springframework.core.env.Environment;

/**
 * Finds parts of a valid configuration that have no effect: backends without a route, and routes that an
 * earlier route hides. Such a configuration can start.
 *
 * <p>A route hides a later one only if its sole predicate is Path, and its patterns contain those of the
 * later one. Other combinations are not judged, so no warning is wrong.
 */
final class WarningsCheck {

    private static final String ANY_BELOW = "/**";
    private static final String PATH = "Path";

    private final Environment environment;
    private final Section<WeirProperties> weir;
    private final List<ConfigurationProblem> warnings = new ArrayList<>();

    WarningsCheck(Environment environment, Section<WeirProperties> weir) {
        this.environment = environment;
        this.weir = weir;
    }

    List<ConfigurationProblem> check(List<Route> routes) {
        warnUnusedBackends(routes);
        try {
            List<RouteDefinition> definitions =
                    new RoutesBinder(environment).gateway().getRoutes();
            boolean inOrderOfFile = definitions.stream().allMatch(route -> route.getOrder() == 0);
            if (inOrderOfFile && definitions.size() == routes.size()) {
                warnHiddenRoutes(routes, definitions);
            }
        } catch (BindException e) {
            // The check of the routes has reported it.
        }
        return warnings;
    }

    private void warnUnusedBackends(List<Route> routes) {
        Set<String> used = new HashSet<>();
        routes.forEach(route -> Optional.ofNullable(route.backend()).ifPresent(used::add));
        weir.each(WeirProperties::routes).map(Map.Entry::getValue).forEach(route -> {
            route.in(RouteProperties::fallback)
                    .value(FallbackProperties::backend)
                    .ifPresent(used::add);
            route.in(RouteProperties::authorize)
                    .value(AuthorizeProperties::backend)
                    .ifPresent(used::add);
        });
        weir.names(WeirProperties::backends).forEach((name, location) -> {
            if (!used.contains(name)) {
                warnings.add(ConfigurationProblem.of(
                        location, weir.in(WeirProperties::backends, name).path(), null, "no route uses this backend"));
            }
        });
    }

    private void warnHiddenRoutes(List<Route> routes, List<RouteDefinition> definitions) {
        // Once for each route, since each route is compared with each other one.
        List<List<List<String>>> patterns = definitions.stream()
                .map(route -> route.getPredicates().stream()
                        .map(WarningsCheck::patterns)
                        .toList())
                .toList();
        for (int later = 1; later < routes.size(); later++) {
            for (int earlier = 0; earlier < later; earlier++) {
                if (hides(patterns.get(earlier), patterns.get(later))) {
                    Route hidden = routes.get(later);
                    warnings.add(ConfigurationProblem.of(
                            hidden.location(),
                            hidden.path(),
                            hidden.id(),
                            "never reached: route " + routes.get(earlier).id() + " takes each of its requests"));
                    break;
                }
            }
        }
    }

    private static boolean hides(List<List<String>> earlier, List<List<String>> later) {
        if (earlier.size() != 1) {
            return false;
        }
        List<String> wide = earlier.getFirst();
        if (wide.contains(ANY_BELOW)) {
            return true;
        }
        return later.stream()
                .anyMatch(narrow -> !narrow.isEmpty()
                        && narrow.stream().allMatch(one -> wide.stream().anyMatch(other -> contains(other, one))));
    }

    /** The patterns of a Path predicate; empty for any other predicate. */
    private static List<String> patterns(PredicateDefinition predicate) {
        return PATH.equals(predicate.getName())
                ? predicate.getArgs().values().stream()
                        .filter(argument -> argument.startsWith("/"))
                        .toList()
                : List.of();
    }

    private static boolean contains(String wide, String narrow) {
        if (wide.equals(narrow)) {
            return true;
        }
        if (!wide.endsWith(ANY_BELOW)) {
            return false;
        }
        String prefix = wide.substring(0, wide.length() - ANY_BELOW.length());
        boolean isLiteral = prefix.chars().noneMatch(c -> "*?{".indexOf(c) >= 0);
        return isLiteral && (narrow.equals(prefix) || narrow.startsWith(prefix + '/'));
    }
}
