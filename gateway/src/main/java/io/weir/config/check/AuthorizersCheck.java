package io.weir.config.check;

import io.weir.authentication.AuthenticationProperties;
import io.weir.authorization.AuthorizationCacheProperties;
import io.weir.authorization.AuthorizeProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import io.weir.config.check.RoutesCheck.Route;
import io.weir.config.check.ValidValues.Entry;
import io.weir.edge.EdgeProperties;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Checks the authorizers of routes: their backends, and the fields that they get and set. */
final class AuthorizersCheck {

    /** The credentials that an authorizer may replace. */
    private static final Set<String> CREDENTIALS = Set.of("authorization", "cookie");

    /** The fields of the protocol, which no call may copy. */
    private static final Set<String> FRAMING = Set.of(
            "connection",
            "content-length",
            "expect",
            "host",
            "keep-alive",
            "proxy-authorization",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade");

    private final Section<WeirProperties> weir;
    private final Consumer<ConfigurationProblem> problems;

    AuthorizersCheck(Section<WeirProperties> weir, Consumer<ConfigurationProblem> problems) {
        this.weir = weir;
        this.problems = problems;
    }

    /** Checks all routes. */
    void check(List<Route> routes) {
        Set<String> own = Stream.of(
                        weir.in(WeirProperties::authentication).value(AuthenticationProperties::identityHeader),
                        weir.in(WeirProperties::edge).value(EdgeProperties::priorityHeader))
                .flatMap(Optional::stream)
                .map(name -> name.toLowerCase(Locale.ROOT))
                .collect(Collectors.toSet());
        weir.each(WeirProperties::routes).forEach(route -> {
            Section<AuthorizeProperties> authorize = route.getValue().in(RouteProperties::authorize);
            checkKeys(authorize);
            authorize
                    .explicit(AuthorizeProperties::backend)
                    .ifPresent(backend -> checkBackend(backend, backendOf(route.getKey(), routes)));
            authorize
                    .explicit(AuthorizeProperties::headersIn)
                    .ifPresent(names ->
                            checkNames(names, authorize.list(AuthorizeProperties::headersIn), FRAMING::contains));
            authorize
                    .explicit(AuthorizeProperties::headersOut)
                    .ifPresent(names -> checkNames(
                            names,
                            authorize.list(AuthorizeProperties::headersOut),
                            name -> own.contains(name) || (IssuersCheck.isUsed(name) && !CREDENTIALS.contains(name))));
        });
    }

    /** A field that the authorizer does not get tells it nothing. */
    private void checkKeys(Section<AuthorizeProperties> authorize) {
        Section<AuthorizationCacheProperties> cache = authorize.in(AuthorizeProperties::cache);
        cache.get(AuthorizationCacheProperties::keyHeaders)
                .filter(names -> names.value().equals(List.of()))
                .ifPresent(names -> problems.accept(ConfigurationProblem.expected(
                        names.location(),
                        cache.pathOf(AuthorizationCacheProperties::keyHeaders),
                        null,
                        "1 to 16 names, of headers-in")));
        List<String> in = lowerCase(authorize.list(AuthorizeProperties::headersIn));
        cache.explicit(AuthorizationCacheProperties::keyHeaders)
                .ifPresent(names -> lowerCase(cache.list(AuthorizationCacheProperties::keyHeaders)).stream()
                        .filter(name -> !in.contains(name))
                        .forEach(name -> problems.accept(names.problem(name, "not among headers-in"))));
    }

    private static List<String> lowerCase(List<String> names) {
        return names.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList();
    }

    private static Optional<String> backendOf(String id, List<Route> routes) {
        return routes.stream()
                .filter(route -> id.equals(route.id()))
                .findFirst()
                .flatMap(route -> Optional.ofNullable(route.backend()));
    }

    private void checkBackend(Entry backend, Optional<String> ofRoute) {
        String name = String.valueOf(backend.value());
        Set<String> backends = weir.names(WeirProperties::backends).keySet();
        if (!backends.contains(name)) {
            problems.accept(backend.problem(backend.text(), "unknown backend", PropertyNames.nearest(name, backends)));
        } else if (ofRoute.filter(name::equals).isPresent()) {
            problems.accept(backend.expected("another backend than the route's own; it may have the same uri"));
        }
    }

    private void checkNames(Entry list, List<String> names, Predicate<String> isReserved) {
        lowerCase(names).stream()
                .filter(isReserved)
                .forEach(name -> problems.accept(list.problem(name, "the gateway or the protocol sets this field")));
    }
}
