package io.weir.config.check;

import static io.weir.config.check.MalformedConfiguration.backendRow;
import static io.weir.config.check.MalformedConfiguration.inBackend;
import static io.weir.config.check.MalformedConfiguration.problem;
import static io.weir.config.check.MalformedConfiguration.row;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Values that do not convert, are out of range, or are missing. */
class MalformedValuesTest {

    private static final String DNS_SERVER =
            "expected: an address and a port from 1 to 65535, such as 127.0.0.1:53 or [::1]:53";

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("values")
    void reportsTheValue(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
    }

    static Stream<MalformedConfiguration> values() {
        return Stream.of(
                row(
                        "a rate limit with values out of their ranges",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              rate-limit:
                                permits: 0
                                period: 500ms
                                burst: 1000001
                                max-keys: 999
                        """,
                        problem(8, "weir.routes.orders.rate-limit.permits", "0", "expected: 1 to 1000000"),
                        problem(9, "weir.routes.orders.rate-limit.period", "500ms", "expected: 1s to 1d"),
                        problem(10, "weir.routes.orders.rate-limit.burst", "1000001", "expected: 1 to 1000000"),
                        problem(11, "weir.routes.orders.rate-limit.max-keys", "999", "expected: 1000 to 10000000")),
                row(
                        "networks that may use a route, malformed",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              access:
                                allow:
                                  - 10.0.0.0/8
                                  - office.example
                                deny: [10.0.0.1/8]
                        """,
                        problem(
                                10,
                                "weir.routes.orders.access.allow[1]",
                                "office.example",
                                "expected: an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8"),
                        problem(
                                11,
                                "weir.routes.orders.access.deny[0]",
                                "10.0.0.1/8",
                                "expected: a network, without bits beyond its prefix length, as in 10.0.0.0/8")),
                row(
                        "CORS without origins, with paths, and with credentials for everybody",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: users, uri: "backend://orders", predicates: ["Path=/users/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              cors:
                                allowed-methods: [GET]
                            users:
                              cors:
                                allowed-origins: ["*", "https://shop.example/"]
                                allowed-headers: ["x trace"]
                                exposed-headers: ["*"]
                                allow-credentials: true
                              compression: { content-types: [text/html, application/grpc] }
                        """,
                        problem(
                                8,
                                "weir.routes.orders.cors",
                                null,
                                "expected: allowed-origins or allowed-origin-patterns"),
                        problem(
                                12,
                                "weir.routes.users.cors.allowed-origins[1]",
                                "https://shop.example/",
                                "expected: an origin such as https://shop.example, or *; patterns in allowed-origin-patterns"),
                        problem(
                                13,
                                "weir.routes.users.cors.allowed-headers[0]",
                                "x trace",
                                "expected: the name of a header field, or *"),
                        problem(
                                15,
                                "weir.routes.users.cors.allow-credentials",
                                null,
                                "expected: false, since allowed-origins has *; or the origins in allowed-origin-patterns"),
                        problem(
                                15,
                                "weir.routes.users.cors.allow-credentials",
                                null,
                                "expected: false, since exposed-headers has *, which is a name then"),
                        problem(
                                16,
                                "weir.routes.users.compression.content-types[1]",
                                "application/grpc",
                                "expected: a media type, text/* or application/*+json; never gRPC")),
                row(
                        "a route's CORS beside that of all routes",
                        """
                        spring.cloud.gateway.server.webflux:
                          globalcors.cors-configurations:
                            "[/**]": { allowed-origins: https://shop.example }
                          routes:
                            - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes.orders.cors.allowed-origins: https://shop.example
                        """,
                        problem(
                                8,
                                "weir.routes.orders.cors",
                                null,
                                "not together with spring.cloud.gateway.server.webflux.globalcors")),
                row(
                        "a redirect without TLS, to a port in use",
                        """
                        weir.edge: { redirect-port: 8080 }
                        """,
                        problem(
                                1,
                                "weir.edge.redirect-port",
                                "8080",
                                "expected: also server.ssl, since without TLS there is nothing to redirect to"),
                        problem(1, "weir.edge.redirect-port", "8080", "expected: another port than server.port")),
                row(
                        "the target of a redirect without the redirect, and names that no handshake has",
                        """
                        weir.edge: { redirect-to-port: 443 }
                        server.ssl:
                          bundle: main
                          server-name-bundles:
                            - { server-name: Shop.example, bundle: main }
                            - { server-name: "*.shop.example", bundle: main }
                            - { server-name: m.shop.example, bundle: main }
                        """,
                        problem(
                                1,
                                "weir.edge.redirect-to-port",
                                "443",
                                "expected: also weir.edge.redirect-port, the port that redirects"),
                        problem(
                                5,
                                "server.ssl.server-name-bundles[0].server-name",
                                "Shop.example",
                                "expected: lower case, as in a handshake"),
                        problem(
                                6,
                                "server.ssl.server-name-bundles[1].server-name",
                                "*.shop.example",
                                "expected: the name of one host, without a wildcard or port")),
                row(
                        "properties of issuers and of routes that require a token, out of range",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          authentication:
                            identity-header: X Identity
                            client-certificate: all
                            issuers:
                              corp:
                                issuer: https://id.example
                                clock-skew: 11m
                                refresh-interval: 500ms
                                unknown-key-interval: 0s
                                fetch-timeout: 2m
                              other: { jwk-set-uri: "https://id.example/keys" }
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              authentication:
                                issuers: [corp]
                                scopes: ["a b"]
                                claims: [department]
                                certificates: ["dns:*.*.example", "CN=alice"]
                        """,
                        problem(
                                5,
                                "weir.authentication.identity-header",
                                "X Identity",
                                "expected: the name of a header field"),
                        problem(6, "weir.authentication.client-certificate", "all", "expected: none, leaf or chain"),
                        problem(10, "weir.authentication.issuers.corp.clock-skew", "11m", "expected: 0 to 10m"),
                        problem(11, "weir.authentication.issuers.corp.refresh-interval", "500ms", "expected: 1s to 1d"),
                        problem(
                                12,
                                "weir.authentication.issuers.corp.unknown-key-interval",
                                "0s",
                                "expected: 1s to 1h"),
                        problem(13, "weir.authentication.issuers.corp.fetch-timeout", "2m", "expected: 100ms to 1m"),
                        problem(
                                14,
                                "weir.authentication.issuers.other.issuer",
                                null,
                                "missing; expected: text, 1 to 1000 characters"),
                        problem(
                                20,
                                "weir.routes.orders.authentication.scopes[0]",
                                "a b",
                                "expected: a scope without spaces"),
                        problem(
                                21,
                                "weir.routes.orders.authentication.claims[0]",
                                "department",
                                "expected: NAME=VALUE"),
                        problem(
                                22,
                                "weir.routes.orders.authentication.certificates[0]",
                                "dns:*.*.example",
                                "expected: dns:NAME, uri:URI or subject:DN, with at most one *"),
                        problem(
                                22,
                                "weir.routes.orders.authentication.certificates[1]",
                                "CN=alice",
                                "expected: dns:NAME, uri:URI or subject:DN, with at most one *")),
                row(
                        "a rate limit without a number, and with an unknown key",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              rate-limit:
                                key: "claim:"
                        """,
                        problem(
                                8,
                                "weir.routes.orders.rate-limit.key",
                                "claim:",
                                "expected: client-address, header:NAME, claim:NAME or route"),
                        problem(
                                7,
                                "weir.routes.orders.rate-limit.permits",
                                null,
                                "missing; expected: a whole number, 1 to 1000000")),
                backendRow(
                        "a duration below its range",
                        "deadline: 0ms",
                        inBackend("deadline", "0ms", "expected: 1ms to 10m")),
                backendRow(
                        "a duration above its range",
                        "deadline: 11m",
                        inBackend("deadline", "11m", "expected: 1ms to 10m")),
                backendRow(
                        "no duration",
                        "deadline: soon",
                        inBackend("deadline", "soon", "expected: a duration, 1ms to 10m")),
                backendRow(
                        "a duration without a unit, which Spring Boot would take for milliseconds",
                        "deadline: 3",
                        inBackend(
                                "deadline", "3", "without a unit, such as ms or s; expected: a duration, 1ms to 10m")),
                backendRow(
                        "a duration with a comma",
                        "deadline: 1,5s",
                        inBackend("deadline", "1,5s", "expected: a duration, 1ms to 10m")),
                backendRow(
                        "a list in place of a duration, which Spring Boot would ignore",
                        "deadline: [800ms]",
                        inBackend("deadline[0]", "800ms", "expected: a single value, a duration, 1ms to 10m")),
                backendRow(
                        "a value that is empty, for which Spring Boot would take the default",
                        "deadline:",
                        inBackend("deadline", null, "empty; expected: a duration, 1ms to 10m")),
                row(
                        "an endpoint that is none",
                        """
                        weir:
                          tracing: { enabled: true, endpoint: "collector:4317" }
                        """,
                        problem(
                                2,
                                "weir.tracing.endpoint",
                                "collector:4317",
                                "expected: http://host:port/path or https://host:port/path")),
                row("a ratio in percent", """
                        weir:
                          tracing: { sampling-ratio: 10 }
                        """, problem(2, "weir.tracing.sampling-ratio", "10", "expected: 0 to 1")),
                row("a text that is empty", """
                        weir:
                          access-log: { file: "" }
                        """, problem(2, "weir.access-log.file", null, "empty; expected: text")),
                backendRow(
                        "a whole number below its range",
                        "bulkhead: { max-concurrent-calls: 0 }",
                        inBackend("bulkhead.max-concurrent-calls", "0", "expected: 1 to 1000000")),
                backendRow(
                        "a fraction, which Spring Boot would cut off",
                        "bulkhead: { max-concurrent-calls: 64.7 }",
                        inBackend(
                                "bulkhead.max-concurrent-calls",
                                "64.7",
                                "expected: a whole number or auto, 1 to 1000000")),
                backendRow(
                        "a word in place of a number or auto",
                        "bulkhead: { max-wait-duration: automatic }",
                        inBackend("bulkhead.max-wait-duration", "automatic", "expected: a duration or auto, 0 to 1m")),
                backendRow(
                        "a number that does not fit",
                        "max-streams: 99999999999",
                        inBackend("max-streams", "99999999999", "expected: a whole number, 1 to 1000000")),
                backendRow(
                        "a word in place of a number",
                        "max-streams: many",
                        inBackend("max-streams", "many", "expected: a whole number, 1 to 1000000")),
                backendRow(
                        "a share of one in place of percent",
                        "circuit-breaker: { failure-rate-threshold: 0, slow-call-rate-threshold: 150 }",
                        inBackend(
                                "circuit-breaker.failure-rate-threshold", "0", "expected: more than 0 to 100 percent"),
                        inBackend(
                                "circuit-breaker.slow-call-rate-threshold",
                                "150",
                                "expected: more than 0 to 100 percent")),
                row("no number at all", """
                        weir:
                          tracing: { sampling-ratio: .nan }
                        """, problem(2, "weir.tracing.sampling-ratio", "NaN", "expected: 0 to 1")),
                backendRow(
                        "a word that is not one of the choice",
                        "protocol: h3",
                        inBackend("protocol", "h3", "expected: http1 or h2", "h2")),
                backendRow(
                        "a word of Resilience4j's",
                        "circuit-breaker: { sliding-window-type: COUNT }",
                        inBackend(
                                "circuit-breaker.sliding-window-type",
                                "COUNT",
                                "expected: TIME_BASED or COUNT_BASED",
                                "COUNT_BASED")),
                row(
                        "a size below its range",
                        """
                        weir:
                          edge:
                            max-header-size: 10B
                        """,
                        problem(3, "weir.edge.max-header-size", "10B", "expected: 1KB to 1MB")),
                row(
                        "a size above its range",
                        """
                        weir:
                          edge:
                            max-uri-length: 2MB
                        """,
                        problem(3, "weir.edge.max-uri-length", "2MB", "expected: 256B to 1MB")),
                row("no size", """
                        weir:
                          edge:
                            max-body-size: 10 apples
                        """, problem(3, "weir.edge.max-body-size", "10 apples", "expected: a size, 0B to 1TB")),
                row(
                        "neither true nor false",
                        """
                        weir:
                          allow-unprotected-routes: maybe
                        """,
                        problem(2, "weir.allow-unprotected-routes", "maybe", "expected: true or false")),
                backendRow(
                        "an element of a list",
                        """
                        circuit-breaker:
                          record-statuses:
                            - 500
                            - 200
                            - teapot
                        """,
                        inBackend(8, "circuit-breaker.record-statuses[1]", "200", "expected: 400 to 599"),
                        inBackend(
                                9,
                                "circuit-breaker.record-statuses[2]",
                                "teapot",
                                "expected: a whole number, 400 to 599")),
                backendRow(
                        "an element of a list in one text",
                        "circuit-breaker: { record-statuses: \"500, 600\" }",
                        inBackend("circuit-breaker.record-statuses", "600", "expected: 400 to 599")),
                backendRow(
                        "a map in place of a list, which Spring Boot would ignore",
                        """
                        circuit-breaker:
                          record-statuses: { a: 500 }
                        """,
                        inBackend(
                                6,
                                "circuit-breaker.record-statuses.a",
                                null,
                                "expected: a list of values, each a whole number, 400 to 599")),
                backendRow(
                        "a path that is none",
                        "recovery: { health-path: health }",
                        inBackend("recovery.health-path", "health", "expected: a path that starts with /")),
                backendRow(
                        "a health check without a path",
                        "health-check: { interval: 1s, timeout: 2s }",
                        inBackend("health-check.path", null, "missing; expected: text, a path that starts with /"),
                        inBackend("health-check.timeout", "2s", "expected: at most the interval, 1s")),
                backendRow(
                        "a health check with values out of range",
                        """
                        health-check:
                          path: up
                          interval: 5
                          timeout: 5ms
                          healthy-threshold: 0
                          unhealthy-threshold: 101
                          expected-statuses: [ 200, 600 ]
                        """,
                        inBackend(6, "health-check.path", "up", "expected: a path that starts with /"),
                        inBackend(
                                7,
                                "health-check.interval",
                                "5",
                                "without a unit, such as ms or s; expected: a duration, 100ms to 10m"),
                        inBackend(8, "health-check.timeout", "5ms", "expected: 10ms to 1m"),
                        inBackend(9, "health-check.healthy-threshold", "0", "expected: 1 to 100"),
                        inBackend(10, "health-check.unhealthy-threshold", "101", "expected: 1 to 100"),
                        inBackend(11, "health-check.expected-statuses[1]", "600", "expected: 200 to 599")),
                backendRow(
                        "an address and instances",
                        "instances: [ { uri: http://a:8080 } ]",
                        inBackend("instances", null, "expected: one of uri, instances and discovery")),
                row(
                        "an address and a discovery",
                        """
                        weir:
                          backends:
                            orders:
                              uri: http://orders:8080
                              discovery: orders
                            users:
                              instances: [ { uri: http://a:8080 } ]
                              discovery: users
                        """,
                        problem(
                                5,
                                "weir.backends.orders.discovery",
                                "orders",
                                "expected: one of uri, instances and discovery"),
                        problem(
                                8,
                                "weir.backends.users.discovery",
                                "users",
                                "expected: one of uri, instances and discovery")),
                row(
                        "a malformed DNS server",
                        """
                        weir:
                          dns-server: dns.example
                        """,
                        problem(
                                2,
                                "weir.dns-server",
                                "dns.example",
                                "expected: an address and a port from 1 to 65535, such as 127.0.0.1:53 or [::1]:53")),
                row(
                        "an instance twice",
                        """
                        weir:
                          backends:
                            orders:
                              instances:
                                - uri: http://a:8080
                                - uri: http://a:8080
                        """,
                        problem(
                                6,
                                "weir.backends.orders.instances[1].uri",
                                "http://a:8080",
                                "expected: another address than weir.backends.orders.instances[0].uri")),
                row(
                        "an instance with a path and a weight of 0",
                        """
                        weir:
                          backends:
                            orders:
                              instances:
                                - { uri: http://a:8080/orders, weight: 0 }
                        """,
                        problem(5, "weir.backends.orders.instances[0].weight", "0", "expected: 1 to 1000"),
                        problem(
                                5,
                                "weir.backends.orders.instances[0].uri",
                                "http://a:8080/orders",
                                "expected: http://<host>:<port> or https://<host>:<port>, without a path; a path belongs to the filters PrefixPath and SetPath")),
                row(
                        "an instance without an address",
                        """
                        weir:
                          backends:
                            orders:
                              instances:
                                - weight: 2
                        """,
                        problem(
                                5,
                                "weir.backends.orders.instances[0].uri",
                                null,
                                "missing; expected: a URI such as http://orders:8080")),
                backendRow(
                        "a policy of load balancing that does not exist, and numbers out of range",
                        """
                        load-balancing:
                          policy: random
                          slow-start: 2h
                          max-concurrent-calls-per-instance: 0
                        """,
                        inBackend(6, "load-balancing.policy", "random", "expected: least-latency, round-robin or hash"),
                        inBackend(7, "load-balancing.slow-start", "2h", "expected: 0 to 1h"),
                        inBackend(
                                8, "load-balancing.max-concurrent-calls-per-instance", "0", "expected: 1 to 1000000")),
                backendRow(
                        "a hash without a key",
                        "load-balancing: { policy: hash }",
                        inBackend("load-balancing.policy", "hash", "expected: also a hash-key")),
                backendRow(
                        "a hash key without a hash",
                        "load-balancing: { hash-key: \"cookie:SESSION\" }",
                        inBackend("load-balancing.hash-key", "cookie:SESSION", "expected: also policy: hash")),
                backendRow(
                        "a hash key of an unknown kind",
                        "load-balancing: { policy: hash, hash-key: \"query:user\" }",
                        inBackend(
                                "load-balancing.hash-key",
                                "query:user",
                                "expected: client-address, header:NAME or cookie:NAME")),
                row(
                        "instances that are no list",
                        """
                        weir:
                          backends:
                            orders:
                              instances: http://a:8080
                        """,
                        problem(
                                4,
                                "weir.backends.orders.instances",
                                "http://a:8080",
                                "expected: a list, each element with properties: uri, weight")),
                row(
                        "a value that is required",
                        """
                        weir:
                          backends:
                            orders:
                              deadline: 1s
                            users:
                              uri: http://users:8080
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                null,
                                "missing; expected: a URI such as http://orders:8080, or instances, or discovery")),
                row(
                        "a backend without anything",
                        """
                        weir:
                          backends:
                            orders:
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                null,
                                "missing; expected: a URI such as http://orders:8080, or instances, or discovery")),
                backendRow(
                        "a number in base 8",
                        "max-streams: 0100",
                        inBackend("max-streams", "0100", "YAML reads this as a number in base 8; put it in quotes")),
                backendRow(
                        "a number in base 60",
                        "deadline: 1:30",
                        inBackend("deadline", "1:30", "YAML reads this as a number in base 60; put it in quotes"),
                        inBackend(
                                "deadline", "90", "without a unit, such as ms or s; expected: a duration, 1ms to 10m")),
                backendRow(
                        "a placeholder without a value",
                        "deadline: ${ORDERS_DEADLINE_THAT_IS_NOT_SET}",
                        inBackend(
                                "deadline",
                                "${ORDERS_DEADLINE_THAT_IS_NOT_SET}",
                                "the placeholder ORDERS_DEADLINE_THAT_IS_NOT_SET has no value")),
                row(
                        "a placeholder without a value beside one with a default",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://${HOST_THAT_IS_NOT_SET:orders}:${PORT_THAT_IS_NOT_SET}" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://${HOST_THAT_IS_NOT_SET:orders}:${PORT_THAT_IS_NOT_SET}",
                                "the placeholder PORT_THAT_IS_NOT_SET has no value")),
                row(
                        "a placeholder without a value in place of a token, which is not shown",
                        """
                        weir:
                          management:
                            token: ${TOKEN_THAT_IS_NOT_SET}
                        """,
                        problem(
                                3,
                                "weir.management.token",
                                "******",
                                "the placeholder TOKEN_THAT_IS_NOT_SET has no value")),
                row(
                        "placeholders without a value in what is Spring Boot's to read",
                        """
                        server.ssl.bundle: ${BUNDLE_THAT_IS_NOT_SET}
                        spring.application.name: ${NAME_THAT_IS_NOT_SET}
                        weir.backends.orders.uri: http://orders:8080
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        """,
                        problem(
                                1,
                                "server.ssl.bundle",
                                "${BUNDLE_THAT_IS_NOT_SET}",
                                "the placeholder BUNDLE_THAT_IS_NOT_SET has no value"),
                        problem(
                                2,
                                "spring.application.name",
                                "${NAME_THAT_IS_NOT_SET}",
                                "the placeholder NAME_THAT_IS_NOT_SET has no value")),
                backendRow(
                        "a placeholder with a bad default",
                        "deadline: ${ORDERS_DEADLINE_THAT_IS_NOT_SET:soon}",
                        inBackend(
                                "deadline",
                                "${ORDERS_DEADLINE_THAT_IS_NOT_SET:soon} = soon",
                                "expected: a duration, 1ms to 10m")),
                row(
                        "a token that is too short, and is not shown",
                        """
                        weir:
                          management:
                            token: hunter2
                        """,
                        problem(3, "weir.management.token", "******", "expected: 16 to 1024 characters")),
                row(
                        "a misspelt token, which is not shown either",
                        """
                        weir:
                          management:
                            tokn: hunter2hunter2hunter2
                        """,
                        problem(3, "weir.management.tokn", "******", "unknown property", "token")),
                row(
                        "a priority, a tenant and a field that do not exist",
                        """
                        weir:
                          edge: { priority-header: "X Priority", trusted-proxies: [ 10.0.0.0/8 ] }
                          backends:
                            orders:
                              uri: http://orders:8080
                              fairness: { key: tenant }
                            billing:
                              uri: http://billing:8080
                              fairness: { key: "header:" }
                          routes:
                            orders: { priority: high }
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: [ Path=/orders/** ] }
                        """,
                        problem(2, "weir.edge.priority-header", "X Priority", "expected: the name of a header field"),
                        problem(
                                6,
                                "weir.backends.orders.fairness.key",
                                "tenant",
                                "expected: client-address, header:NAME or claim:NAME"),
                        problem(
                                9,
                                "weir.backends.billing.fairness.key",
                                "header:",
                                "expected: client-address, header:NAME or claim:NAME"),
                        problem(11, "weir.routes.orders.priority", "high", "expected: critical, normal or sheddable")),
                row(
                        "no network",
                        """
                        weir:
                          edge:
                            trusted-proxies:
                              - 10.0.0.0/8
                              - 10.0.0.1/8
                              - proxy
                        """,
                        problem(
                                5,
                                "weir.edge.trusted-proxies[1]",
                                "10.0.0.1/8",
                                "expected: a network, without bits beyond its prefix length, as in 10.0.0.0/8"),
                        problem(
                                6,
                                "weir.edge.trusted-proxies[2]",
                                "proxy",
                                "expected: an IPv4 or IPv6 address, or a network such as 10.0.0.0/8 or fd00::/8")),
                row(
                        "a PROXY protocol without proxies",
                        """
                        weir:
                          edge:
                            proxy-protocol: required
                        """,
                        problem(
                                3,
                                "weir.edge.proxy-protocol",
                                "required",
                                "expected: also weir.edge.trusted-proxies, the balancers that send the header")),
                row(
                        "no mode of the PROXY protocol, and limits per client that are none",
                        """
                        weir:
                          edge:
                            proxy-protocol: v2
                            max-connections-per-client: 0
                            max-requests-per-client: 10000001
                        """,
                        problem(3, "weir.edge.proxy-protocol", "v2", "expected: off, optional or required"),
                        problem(4, "weir.edge.max-connections-per-client", "0", "expected: 1 to 10000000"),
                        problem(5, "weir.edge.max-requests-per-client", "10000001", "expected: 1 to 10000000")),
                row(
                        "a DNS server at a port that there is not, among others",
                        """
                        weir:
                          cluster:
                            dns-server: 127.0.0.1:99999
                            refresh-interval: 2h
                        """,
                        problem(3, "weir.cluster.dns-server", "127.0.0.1:99999", DNS_SERVER),
                        problem(4, "weir.cluster.refresh-interval", "2h", "expected: 100ms to 1m")),
                row("a DNS server without a port", """
                        weir:
                          cluster: { dns-server: 127.0.0.1 }
                        """, problem(2, "weir.cluster.dns-server", "127.0.0.1", DNS_SERVER)),
                row("a DNS server at port 0", """
                        weir:
                          cluster: { dns-server: "127.0.0.1:0" }
                        """, problem(2, "weir.cluster.dns-server", "127.0.0.1:0", DNS_SERVER)),
                row(
                        "a DNS server by a name, which DNS would have to know",
                        """
                        weir:
                          cluster: { dns-server: "be.ad:53" }
                        """,
                        problem(2, "weir.cluster.dns-server", "be.ad:53", DNS_SERVER)),
                row(
                        "a DNS server whose address may end in its port",
                        """
                        weir:
                          cluster: { dns-server: "fd00::1:53" }
                        """,
                        problem(2, "weir.cluster.dns-server", "fd00::1:53", DNS_SERVER)),
                row(
                        "a URI without a scheme",
                        """
                        weir:
                          backends:
                            orders: { uri: "orders:8080" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "orders:8080",
                                "expected: http://<host>:<port> or https://<host>:<port>")),
                row(
                        "a URI with another scheme",
                        """
                        weir:
                          backends:
                            orders: { uri: "grpc://orders:8080" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "grpc://orders:8080",
                                "expected: http://<host>:<port> or https://<host>:<port>")),
                row(
                        "a URI with a space",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders :8080" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://orders :8080",
                                "expected: a URI such as http://orders:8080")),
                row(
                        "a URI with a path",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080/v1" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://orders:8080/v1",
                                "expected: http://<host>:<port> or https://<host>:<port>, without a path; a path belongs to the filters PrefixPath and SetPath")),
                row(
                        "a URI with credentials, which are not shown",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://me:hunter2@orders:8080" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://******@orders:8080",
                                "expected: http://<host>:<port> or https://<host>:<port>; credentials belong to a header that a filter adds")),
                row(
                        "a URI with an underscore in the host",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders_service:8080" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://orders_service:8080",
                                "expected: a host without underscores, which are not allowed in its name")),
                row(
                        "a URI with a port that is none",
                        """
                        weir:
                          backends:
                            orders: { uri: "http://orders:80800" }
                        """,
                        problem(
                                3,
                                "weir.backends.orders.uri",
                                "http://orders:80800",
                                "expected: a port from 1 to 65535")));
    }
}
