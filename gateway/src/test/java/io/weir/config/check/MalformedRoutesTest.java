package io.weir.config.check;

import static io.weir.config.check.MalformedConfiguration.problem;
import static io.weir.config.check.MalformedConfiguration.row;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Routes, predicates and filters of Spring Cloud Gateway. */
class MalformedRoutesTest {

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("routes")
    void reportsTheProblem(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
    }

    /** A row with a backend {@code orders} and a route, which is in line 3. */
    private static MalformedConfiguration routeRow(
            String name, String route, MalformedConfiguration.Expected... problems) {
        return row(name, """
                weir.backends.orders.uri: http://orders:8080
                spring.cloud.gateway.server.webflux.routes:
                  - %s
                """.formatted(route), problems);
    }

    /** A row with a backend and a route {@code orders} with filters, which are in the lines from 7 on. */
    private static MalformedConfiguration filterRow(
            String name, String filters, MalformedConfiguration.Expected... problems) {
        return row(name, """
                weir.backends.orders.uri: http://orders:8080
                spring.cloud.gateway.server.webflux.routes:
                  - id: orders
                    uri: backend://orders
                    predicates: [Path=/orders/**]
                    filters:
                """ + filters.indent(6), problems);
    }

    /** A row with a backend and a route {@code orders} with predicates, which are in the lines from 6 on. */
    private static MalformedConfiguration predicateRow(
            String name, String predicates, MalformedConfiguration.Expected... problems) {
        return row(name, """
                weir.backends.orders.uri: http://orders:8080
                spring.cloud.gateway.server.webflux.routes:
                  - id: orders
                    uri: backend://orders
                    predicates:
                """ + predicates.indent(6), problems);
    }

    /** A problem of the route of a {@link #routeRow}. */
    private static MalformedConfiguration.Expected inRoute(
            String property, @Nullable String value, String why, String... nearest) {
        return inRoute(3, property, value, why, nearest);
    }

    /** A problem of the first route, in a line. */
    private static MalformedConfiguration.Expected inRoute(
            int line, String property, @Nullable String value, String why, String... nearest) {
        String path = "spring.cloud.gateway.server.webflux.routes[0]." + property;
        return nearest.length == 0 ? problem(line, path, value, why) : problem(line, path, value, why, nearest[0]);
    }

    static Stream<MalformedConfiguration> routes() {
        return Stream.of(
                row(
                        "the prefix of before version 5",
                        """
                        spring.cloud.gateway.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        """,
                        problem(
                                1,
                                "spring.cloud.gateway.routes",
                                null,
                                "not read by this version; expected: spring.cloud.gateway.server.webflux.routes")),
                row(
                        "the prefix of another server",
                        """
                        spring.cloud.gateway.server.webmvc.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        """,
                        problem(
                                1,
                                "spring.cloud.gateway.server.webmvc.routes",
                                null,
                                "not read by this version; expected: spring.cloud.gateway.server.webflux.routes")),
                row(
                        "a name with characters that Spring Boot leaves out",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud:
                          gateway():
                            server.webflux.routes:
                              - { id: orders, uri: "backend://order", predicates: ["Path=/orders/**"] }
                        """,
                        problem(3, "spring.cloud.gateway()", null, "unknown property", "gateway")),
                row(
                        "a list of routes with characters that Spring Boot leaves out",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes():
                          - { id: orders, uri: "backend://order", predicates: ["Path=/orders/**"] }
                        """,
                        problem(2, "spring.cloud.gateway.server.webflux.routes()", null, "unknown property", "routes")),
                row(
                        "a misspelt list of routes",
                        """
                        spring.cloud.gateway.server.webflux:
                          route:
                            - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        """,
                        problem(2, "spring.cloud.gateway.server.webflux.route", null, "unknown property", "routes")),
                row(
                        "routes by name, which Spring Boot would ignore",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          orders: { uri: "backend://orders" }
                        """,
                        problem(2, "spring.cloud.gateway.server.webflux.routes.orders", null, "expected: a list")),
                routeRow(
                        "a route to a backend that does not exist",
                        "{ id: orders, uri: 'backend://order', predicates: ['Path=/orders/**'] }",
                        inRoute("uri", "backend://order", "unknown backend", "backend://orders")),
                routeRow(
                        "a backend with a port",
                        "{ id: orders, uri: 'backend://orders:8080', predicates: ['Path=/orders/**'] }",
                        inRoute(
                                "uri",
                                "backend://orders:8080",
                                "expected: backend://<name>; a port belongs to weir.backends.<name>.uri, a path to filters")),
                routeRow(
                        "a backend with a path",
                        "{ id: orders, uri: 'backend://orders/v1', predicates: ['Path=/orders/**'] }",
                        inRoute(
                                "uri",
                                "backend://orders/v1",
                                "expected: backend://<name>; a port belongs to weir.backends.<name>.uri, a path to filters")),
                routeRow(
                        "a backend without slashes",
                        "{ id: orders, uri: 'backend:orders', predicates: ['Path=/orders/**'] }",
                        inRoute("uri", "backend:orders", "expected: backend://<name>")),
                routeRow(
                        "a misspelt scheme",
                        "{ id: orders, uri: 'bakend://orders', predicates: ['Path=/orders/**'] }",
                        inRoute("uri", "bakend://orders", "expected: backend://<name>", "backend://")),
                routeRow(
                        "a route without a compartment",
                        "{ id: orders, uri: 'http://orders:8080', predicates: ['Path=/orders/**'] }",
                        inRoute(
                                "uri",
                                "http://orders:8080",
                                "without a compartment of its own; expected: backend://<name>, or weir.allow-unprotected-routes: true")),
                row(
                        "a route to the load balancer of an unknown backend",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "lb://order", predicates: ["Path=/orders/**"] }
                          - { id: users, uri: "lb://orders:8080", predicates: ["Path=/users/**"] }
                        """,
                        inRoute(3, "uri", "lb://order", "unknown backend", "lb://orders"),
                        problem(
                                4,
                                "spring.cloud.gateway.server.webflux.routes[1].uri",
                                "lb://orders:8080",
                                "expected: lb://<name>; a port belongs to weir.backends.<name>.uri, a path to filters")),
                routeRow(
                        "a route without anything",
                        "order: 1",
                        inRoute("id", null, "missing; expected: a unique name"),
                        inRoute("uri", null, "missing; expected: backend://<name>"),
                        inRoute("predicates", null, "missing; expected: at least one, such as Path=/orders/**")),
                row(
                        "two routes with one id",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                        """,
                        problem(
                                6,
                                "spring.cloud.gateway.server.webflux.routes[1].id",
                                "orders",
                                "also the id of the route in %s:3")),
                row(
                        "misspelt properties of a route",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                            filter: [StripPrefix=1]
                            ordr: 1
                        """,
                        inRoute(6, "filter", null, "unknown property", "filters"),
                        inRoute(7, "ordr", "1", "unknown property", "order")),
                row("an order that is no number", """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                            order: first
                        """, inRoute(6, "order", "first", "expected: a whole number")),
                row(
                        "Spring Cloud Gateway's timeouts",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                            metadata: { response-timeout: 200, connect-timeout: 100 }
                        """,
                        inRoute(
                                6,
                                "metadata.response-timeout",
                                "200",
                                "without effect on a backend:// route; use weir.routes.orders.deadline or weir.backends.orders.deadline"),
                        inRoute(
                                6,
                                "metadata.connect-timeout",
                                "100",
                                "without effect on a backend:// route; use weir.backends.orders.connection.connect-timeout")),
                predicateRow(
                        "an unknown predicate",
                        "- Paht=/orders/**",
                        inRoute(6, "predicates[0]", "Paht=/orders/**", "unknown predicate", "Path")),
                predicateRow(
                        "hosts with capital letters",
                        """
                        - Host={tenantId:\\D{2}}.example.org,API.example.org
                        - Host={tenantId:\\D{2}}.example.org,**.example.net
                        """,
                        inRoute(
                                6,
                                "predicates[0]",
                                "Host={tenantId:\\D{2}}.example.org,API.example.org",
                                "expected: hosts in lower case; they match hosts in any case")),
                filterRow(
                        "an unknown filter",
                        "- StripPrefx=1",
                        inRoute(7, "filters[0]", "StripPrefx=1", "unknown filter", "StripPrefix")),
                filterRow(
                        "Spring Cloud Gateway's rate limiter, whose Redis is not there",
                        "- RequestRateLimiter=1",
                        inRoute(
                                7,
                                "filters[0]",
                                "RequestRateLimiter=1",
                                "needs a RateLimiter, which only an extension can bring; or use weir.routes.<id>.rate-limit")),
                routeRow(
                        "a filter without a name",
                        "{ id: orders, uri: 'backend://orders', predicates: ['Path=/a'], filters: ['', {args: {parts: 1}}] }",
                        inRoute("filters[0]", "", "expected: the name of a filter"),
                        inRoute("filters[1].name", null, "missing")),
                predicateRow(
                        "a filter among the predicates",
                        "- StripPrefix=1",
                        inRoute(6, "predicates[0]", "StripPrefix=1", "a filter, not a predicate")),
                predicateRow(
                        "a predicate without arguments",
                        "- Path",
                        inRoute(6, "predicates[0]", "Path", "expected: a name and arguments, such as Path=/orders/**")),
                predicateRow(
                        "a path pattern that does not parse",
                        "- Path=/orders/{id",
                        inRoute(
                                6,
                                "predicates[0]",
                                "Path=/orders/{id",
                                "Expected close capture character after variable name }; expected: Path=patterns,matchTrailingSlash")),
                predicateRow(
                        "a regular expression that does not compile",
                        "- \"Header=X-Version, [\"",
                        inRoute(
                                6,
                                "predicates[0]",
                                "Header=X-Version, [",
                                "not a regular expression: Unclosed character class; expected: Header=header,regexp")),
                predicateRow(
                        "a date that is none",
                        "- After=tomorrow",
                        inRoute(
                                6,
                                "predicates[0]",
                                "After=tomorrow",
                                "datetime: Text 'tomorrow' could not be parsed at index 0; expected: After=datetime")),
                predicateRow(
                        "a network that is none",
                        "- RemoteAddr=1.2.3.4/99",
                        inRoute(
                                6,
                                "predicates[0]",
                                "RemoteAddr=1.2.3.4/99",
                                "IPv4 requires the subnet prefix to be in range of [0,32]. The prefix was: 99; expected: RemoteAddr=sources")),
                filterRow(
                        "a number that is none",
                        "- StripPrefix=one",
                        inRoute(
                                7,
                                "filters[0]",
                                "StripPrefix=one",
                                "parts: expected a whole number; expected: StripPrefix=parts")),
                row(
                        "a variable that one of the patterns does not have",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: ["Path=/orders/{id}/{part},/parts/{part}", "Host={shop}.example"]
                            filters:
                              - SetPath=/{shop}/{id}
                              - AddRequestHeader=X-Part, {part}
                        """,
                        inRoute(
                                7,
                                "filters[0]",
                                "SetPath=/{shop}/{id}",
                                "route orders: no value for {id} in every request; expected: of variables {part}, {shop}")),
                row(
                        "a variable in a default filter",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux:
                          default-filters: ["AddResponseHeader=X-Shop, {shop}"]
                          routes:
                            - { id: shops, uri: "backend://orders", predicates: ["Path=/shops/{shop}/{*rest}"], filters: ["SetPath={rest}"] }
                            - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        """,
                        problem(
                                3,
                                "spring.cloud.gateway.server.webflux.default-filters[0]",
                                "AddResponseHeader=X-Shop, {shop}",
                                "route orders: no value for {shop} in every request; expected: no variable")),
                row(
                        "paths that do not begin with a slash",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: ["Path=/orders/{id}"]
                            filters:
                              - PrefixPath=api
                              - SetPath={id}
                        """,
                        inRoute(7, "filters[0]", "PrefixPath=api", "route orders: expected: a path that starts with /"),
                        inRoute(8, "filters[1]", "SetPath={id}", "route orders: expected: a path that starts with /")),
                filterRow(
                        "a group that the regular expression does not have",
                        """
                        - RewritePath=/orders/(?<rest>.*), /$\\{tail}
                        - RewritePath=/orders/(?<rest>.*), /$\\{rest}
                        - RewriteResponseHeader=Location, /(.*), /$2
                        """,
                        inRoute(
                                7,
                                "filters[0]",
                                "RewritePath=/orders/(?<rest>.*), /$\\{tail}",
                                "No group with name {tail}; expected: RewritePath=regexp,replacement"),
                        inRoute(
                                9,
                                "filters[2]",
                                "RewriteResponseHeader=Location, /(.*), /$2",
                                "No group 2; expected: RewriteResponseHeader=name,regexp,replacement")),
                row(
                        "a route's own CORS, which nothing here would read",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                            metadata: { cors: { allowedOrigins: "*" } }
                        """,
                        inRoute(6, "metadata.cors", null, "without effect; use weir.routes.orders.cors")),
                filterRow(
                        "an argument too many, which Spring Cloud Gateway would ignore",
                        "- StripPrefix=1,2",
                        inRoute(7, "filters[0]", "StripPrefix=1,2", "too many arguments; expected: StripPrefix=parts")),
                filterRow(
                        "an argument that is missing",
                        "- AddRequestHeader=X-Edge",
                        inRoute(
                                7,
                                "filters[0]",
                                "AddRequestHeader=X-Edge",
                                "value must not be empty; expected: AddRequestHeader=name,value")),
                filterRow(
                        "an argument by a misspelt name, which Spring Cloud Gateway would ignore",
                        """
                        - name: StripPrefix
                          args: { part: 2 }
                        """,
                        inRoute(7, "filters[0]", "StripPrefix", "unknown argument part; expected: StripPrefix=parts")),
                filterRow(
                        "a definition with a misspelt property",
                        """
                        - name: StripPrefix
                          arg: { parts: 2 }
                        """,
                        inRoute(8, "filters[0].arg", null, "unknown property", "args")),
                filterRow(
                        "a secret in bad arguments, which is not shown",
                        "- \"AddRequestHeader=Authorization, Bearer hunter2, again\"",
                        inRoute(
                                7,
                                "filters[0]",
                                "AddRequestHeader=******",
                                "bad arguments; expected: AddRequestHeader=name,value")),
                filterRow(
                        "a word that is not one of the choice",
                        "- DedupeResponseHeader=Vary, RETAIN",
                        inRoute(
                                7,
                                "filters[0]",
                                "DedupeResponseHeader=Vary, RETAIN",
                                "strategy: expected RETAIN_FIRST, RETAIN_LAST or RETAIN_UNIQUE; expected: DedupeResponseHeader=name,strategy")),
                filterRow(
                        "Spring Cloud Gateway's own protections",
                        """
                        - Retry=3
                        - CircuitBreaker=orders
                        - RequestSize=5MB
                        """,
                        inRoute(
                                7,
                                "filters[0]",
                                "Retry=3",
                                "not on a backend:// route; use weir.routes.orders.retry and weir.backends.orders.retry-budget"),
                        inRoute(
                                8,
                                "filters[1]",
                                "CircuitBreaker=orders",
                                "not on a backend:// route; use weir.backends.orders.circuit-breaker and weir.routes.orders.fallback"),
                        inRoute(
                                9,
                                "filters[2]",
                                "RequestSize=5MB",
                                "not on a backend:// route; use weir.edge.max-body-size")),
                row(
                        "one of them as a default filter",
                        """
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - id: orders
                            uri: backend://orders
                            predicates: [Path=/orders/**]
                        spring.cloud.gateway.server.webflux.default-filters: [Retry]
                        """,
                        problem(
                                6,
                                "spring.cloud.gateway.server.webflux.default-filters[0]",
                                "Retry",
                                "not on a backend:// route; use weir.routes.<id>.retry and weir.backends.<name>.retry-budget")),
                filterRow(
                        "a filter that this gateway lacks something for",
                        "- RequestRateLimiter=10",
                        inRoute(
                                7,
                                "filters[0]",
                                "RequestRateLimiter=10",
                                "needs a RateLimiter, which only an extension can bring; or use weir.routes.<id>.rate-limit")));
    }
}
