package io.weir.config.check;

import static io.weir.config.check.MalformedConfiguration.backendRow;
import static io.weir.config.check.MalformedConfiguration.inBackend;
import static io.weir.config.check.MalformedConfiguration.inRouteProperties;
import static io.weir.config.check.MalformedConfiguration.problem;
import static io.weir.config.check.MalformedConfiguration.routePropertiesRow;
import static io.weir.config.check.MalformedConfiguration.row;

import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Valid values that contradict each other. */
class ConsistencyCheckTest {

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("contradictions")
    void reportsTheContradiction(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
    }

    static Stream<MalformedConfiguration> contradictions() {
        return Stream.of(
                backendRow(
                        "a limit for all gateways, and nothing that counts them",
                        "bulkhead: { max-concurrent-calls: 64, scope: cluster }",
                        inBackend(
                                "bulkhead.scope",
                                "cluster",
                                "expected: weir.cluster.gateways, the DNS name of all gateways")),
                row(
                        "fields of trusted proxies, and no trusted proxy",
                        """
                        weir:
                          edge: { priority-header: X-Priority }
                          backends:
                            orders:
                              uri: http://orders:8080
                              fairness: { key: header:X-Tenant }
                            billing:
                              uri: http://billing:8080
                              fairness: { key: client-address }
                        """,
                        problem(
                                2,
                                "weir.edge.priority-header",
                                "X-Priority",
                                "expected: also weir.edge.trusted-proxies, since the field is used only from trusted"
                                        + " proxies"),
                        problem(
                                6,
                                "weir.backends.orders.fairness.key",
                                "header:X-Tenant",
                                "expected: also weir.edge.trusted-proxies, since the field is used only from trusted"
                                        + " proxies")),
                row(
                        "routes that require a proof of identity which nobody can have",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://orders", predicates: ["Path=/bills/**"] }
                        weir:
                          authentication:
                            identity-header: Authorization
                            issuers:
                              corp: { issuer: corp }
                              other: { issuer: other, jwk-set-uri: "ftp://id.example/keys" }
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              authentication: { issuers: [crop], client-certificate: true }
                            bills:
                              authentication: { scopes: [bills.read] }
                        """,
                        problem(
                                6,
                                "weir.authentication.identity-header",
                                "Authorization",
                                "expected: a field that has no other meaning"),
                        problem(
                                8,
                                "weir.authentication.issuers.corp.issuer",
                                "corp",
                                "expected: a URI such as https://id.example/keys, or a jwk-set-uri beside it"),
                        problem(
                                9,
                                "weir.authentication.issuers.other.jwk-set-uri",
                                "ftp://id.example/keys",
                                "expected: a URI such as https://id.example/keys"),
                        problem(
                                13,
                                "weir.routes.orders.authentication.client-certificate",
                                "true",
                                "expected: also server.ssl.client-auth: want or need, since the edge asks for no"
                                        + " certificate"),
                        problem(
                                13,
                                "weir.routes.orders.authentication.issuers",
                                "crop",
                                "unknown issuer; expected: a name of weir.authentication.issuers",
                                "corp"),
                        problem(
                                15,
                                "weir.routes.bills.authentication",
                                null,
                                "requires nothing; expected: issuers, or client-certificate: true"),
                        problem(
                                15,
                                "weir.routes.bills.authentication.scopes",
                                "[bills.read]",
                                "expected: also issuers, since a token is required for it")),
                row(
                        "certificates that no caller can be asked for, or that no certificate can match",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://orders", predicates: ["Path=/bills/**"] }
                        weir:
                          authentication.issuers.corp.issuer: https://id.example
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              authentication: { issuers: [corp], certificates: ["dns:batch.example"] }
                            bills:
                              authentication:
                                client-certificate: true
                                certificates: ["subject:alice", "dns:batch..example", "subject:CN=a,O=b"]
                        server.ssl: { client-auth: want }
                        """,
                        problem(
                                9,
                                "weir.routes.orders.authentication.certificates",
                                "[dns:batch.example]",
                                "expected: also client-certificate: true, since a certificate is required for it"),
                        problem(
                                13,
                                "weir.routes.bills.authentication.certificates",
                                "subject:alice",
                                "expected: dns:NAME, uri:URI or subject:DN, with at most one *"),
                        problem(
                                13,
                                "weir.routes.bills.authentication.certificates",
                                "dns:batch..example",
                                "expected: dns:NAME, uri:URI or subject:DN, with at most one *")),
                row(
                        "lists without elements, where nobody or everybody could be meant",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://orders", predicates: ["Path=/bills/**"] }
                        weir:
                          authentication.issuers.corp: { issuer: "https://id.example", audiences: [] }
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              access:
                                allow:
                                deny: []
                              authentication: { issuers: [corp], scopes: [], claims: [] }
                            bills:
                              access.allow: []
                              authentication: { client-certificate: true, certificates: [] }
                        server.ssl: { client-auth: want }
                        """,
                        problem(
                                5,
                                "weir.authentication.issuers.corp.audiences",
                                "[]",
                                "expected: at least one audience, or no list, which accepts any"),
                        problem(
                                10,
                                "weir.routes.orders.access.allow",
                                "[]",
                                "expected: at least one network, or no list, which allows all addresses"),
                        problem(
                                14,
                                "weir.routes.bills.access.allow",
                                "[]",
                                "expected: at least one network, or no list, which allows all addresses"),
                        problem(
                                15,
                                "weir.routes.bills.authentication.certificates",
                                "[]",
                                "expected: at least one pattern, or no list, which accepts every certificate that the"
                                        + " edge trusts")),
                row(
                        "protections of a route without properties, which protect nothing",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://orders", predicates: ["Path=/bills/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              access:
                                # deny: [ 10.0.0.0/8 ]
                              authentication:
                                # issuers: [ corp ]
                              retry:
                            bills:
                              access.deny: [ 10.0.0.0/8 ]
                        """,
                        problem(
                                8,
                                "weir.routes.orders.access",
                                null,
                                "expected: allow or deny, or no group, which allows all addresses"),
                        problem(
                                10,
                                "weir.routes.orders.authentication",
                                null,
                                "requires nothing; expected: issuers, or client-certificate: true")),
                row(
                        "several nodes without a cluster",
                        """
                        weir.rate-limit.redis.uri: redis://one:6379,two:6379
                        """,
                        problem(
                                1,
                                "weir.rate-limit.redis.uri",
                                "redis://one:6379,two:6379",
                                "expected: one host, or also weir.rate-limit.redis.cluster: true")),
                row(
                        "a database of a cluster",
                        """
                        weir.rate-limit.redis: { uri: "redis://one:6379,two/1", cluster: true }
                        """,
                        problem(
                                1,
                                "weir.rate-limit.redis.uri",
                                "redis://one:6379,two/1",
                                "expected: no database, since a cluster has only one")),
                row(
                        "such protections in one line",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://orders", predicates: ["Path=/bills/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders:
                              access: {}
                            bills: { authentication: {}, retry: {} }
                        """,
                        problem(
                                8,
                                "weir.routes.orders.access",
                                null,
                                "expected: allow or deny, or no group, which allows all addresses"),
                        problem(
                                9,
                                "weir.routes.bills.authentication",
                                null,
                                "requires nothing; expected: issuers, or client-certificate: true")),
                row(
                        "claims of tokens that no route verifies",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                          - { id: bills, uri: "backend://bills", predicates: ["Path=/bills/**"] }
                          - { id: more, uri: "backend://bills", predicates: ["Path=/more/**"] }
                        weir:
                          authentication.issuers.corp.issuer: https://id.example
                          backends:
                            orders: { uri: "http://orders:8080", fairness: { key: "claim:sub" } }
                            bills: { uri: "http://bills:8080", fairness: { key: "claim:sub" } }
                            spare: { uri: "http://spare:8080", fairness: { key: "claim:sub" } }
                          routes:
                            orders:
                              rate-limit: { key: "claim:sub", permits: 1 }
                            bills:
                              authentication: { issuers: [corp] }
                              rate-limit: { key: "claim:realm.team", permits: 1 }
                              fallback: { backend: spare }
                        """,
                        problem(
                                8,
                                "weir.backends.orders.fairness.key",
                                "claim:sub",
                                "expected: also authentication.issuers of a route to orders, since only a verified"
                                        + " token has claims"),
                        problem(
                                13,
                                "weir.routes.orders.rate-limit.key",
                                "claim:sub",
                                "expected: also weir.routes.orders.authentication.issuers, since only a verified token"
                                        + " has claims")),
                row(
                        "a limit for all gateways that each of them finds for itself",
                        """
                        weir:
                          cluster: { gateways: weir.internal }
                          backends:
                            orders:
                              uri: http://orders:8080
                              bulkhead: { max-concurrent-calls: auto, scope: cluster }
                        """,
                        problem(
                                6,
                                "weir.backends.orders.bulkhead.max-concurrent-calls",
                                "auto",
                                "expected: a number, since scope: cluster divides a fixed limit among the gateways")),
                row(
                        "a limit for all gateways, and no number",
                        """
                        weir:
                          cluster: { gateways: weir.internal }
                          backends:
                            orders:
                              uri: http://orders:8080
                              bulkhead: { scope: cluster }
                        """,
                        problem(
                                6,
                                "weir.backends.orders.bulkhead.scope",
                                "cluster",
                                "expected: gateway, or a number in max-concurrent-calls beside it: auto finds the limit"
                                        + " of one gateway")),
                backendRow(
                        "bounds of a limit that is fixed",
                        "bulkhead: { max-concurrent-calls: 64, limit: { max: 100 } }",
                        inBackend(
                                "bulkhead.limit.max",
                                "100",
                                "without effect beside max-concurrent-calls: 64; it bounds max-concurrent-calls: auto")),
                backendRow(
                        "a smallest limit above the largest",
                        "bulkhead: { limit: { min: 20, max: 10 } }",
                        inBackend("bulkhead.limit.min", "20", "expected: at most limit.max, 10")),
                backendRow(
                        "an initial limit outside the bounds",
                        "bulkhead: { limit: { min: 4, max: 10, initial: 3 } }",
                        inBackend("bulkhead.limit.min", "4", "expected: at most limit.initial, 3")),
                backendRow(
                        "a wait in the queue longer than the deadline",
                        """
                        deadline: 500ms
                        bulkhead: { max-wait-duration: 600ms }
                        """,
                        inBackend(6, "bulkhead.max-wait-duration", "600ms", "expected: at most the deadline, 500ms")),
                backendRow(
                        "a wait in the queue longer than the default deadline",
                        "bulkhead: { max-wait-duration: 3s }",
                        inBackend("bulkhead.max-wait-duration", "3s", "expected: at most the deadline, 2s")),
                backendRow(
                        "a threshold for slow calls longer than the deadline",
                        """
                        deadline: 500ms
                        circuit-breaker: { slow-call-duration-threshold: 501ms }
                        """,
                        inBackend(
                                6,
                                "circuit-breaker.slow-call-duration-threshold",
                                "501ms",
                                "expected: at most the deadline, 500ms")),
                backendRow(
                        "a connect timeout longer than the deadline",
                        """
                        deadline: 500ms
                        connection: { connect-timeout: 1s }
                        """,
                        inBackend(6, "connection.connect-timeout", "1s", "expected: at most the deadline, 500ms")),
                backendRow(
                        "connections that are idle for longer than they live",
                        "connection: { max-idle: 2m, max-life: 1m }",
                        inBackend("connection.max-idle", "2m", "expected: at most max-life, 1m")),
                backendRow(
                        "more calls than the window has",
                        "circuit-breaker: { sliding-window-size: 20, minimum-number-of-calls: 21 }",
                        inBackend(
                                "circuit-breaker.minimum-number-of-calls",
                                "21",
                                "expected: at most the sliding window, 20 calls")),
                backendRow(
                        "more calls than the default window has",
                        "circuit-breaker: { minimum-number-of-calls: 101 }",
                        inBackend(
                                "circuit-breaker.minimum-number-of-calls",
                                "101",
                                "expected: at most the sliding window, 100 calls")),
                backendRow(
                        "a probe of a path without a path",
                        "recovery: { probe: path }",
                        inBackend("recovery.probe", "path", "expected: also a health-path")),
                backendRow(
                        "a path that no probe asks for",
                        "recovery: { probe: shadow, health-path: /healthz }",
                        inBackend("recovery.probe", "shadow", "expected: path, since a health-path is set")),
                backendRow(
                        "gRPC's health service over HTTP/1.1",
                        "recovery: { probe: grpc-health }",
                        inBackend(
                                "recovery.probe",
                                "grpc-health",
                                "expected: also protocol: h2, since gRPC needs HTTP/2")),
                backendRow(
                        "a stall that is longer than the deadline",
                        """
                        deadline: 1s
                        circuit-breaker: { stall-duration: 2s }
                        """,
                        inBackend(6, "circuit-breaker.stall-duration", "2s", "expected: at most the deadline, 1s")),
                backendRow(
                        "a window smaller than one",
                        "circuit-breaker: { sliding-window-size: 0 }",
                        inBackend("circuit-breaker.sliding-window-size", "0", "expected: 1 to 100000")),
                backendRow(
                        "TLS for a backend without",
                        "connection: { ssl-bundle: orders }",
                        inBackend(
                                "connection.ssl-bundle",
                                "orders",
                                "expected: an https backend, because an SSL bundle is configured")),
                row(
                        "a bundle that does not exist",
                        """
                        weir:
                          backends:
                            orders:
                              uri: https://orders:8443
                              connection: { ssl-bundle: order }
                        spring.ssl.bundle.pem.orders.truststore.certificate: orders.pem
                        """,
                        problem(
                                5,
                                "weir.backends.orders.connection.ssl-bundle",
                                "order",
                                "unknown: no spring.ssl.bundle.jks or spring.ssl.bundle.pem has this name",
                                "orders")),
                row(
                        "a preserved path that a filter changes",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/**"], filters: [StripPrefix=1] }
                        weir:
                          backends:
                            orders: { uri: http://orders:8080 }
                          routes:
                            orders: { preserve-path: true }
                        """,
                        problem(
                                7,
                                "weir.routes.orders.preserve-path",
                                "true",
                                "expected: false, because the filter StripPrefix changes the path")),
                row(
                        "a sticky route without a weight, and two routes of a group with different keys",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: alone, uri: "backend://orders", predicates: ["Path=/a"] }
                          - { id: stable, uri: "backend://orders", predicates: ["Path=/b", "Weight=g, 9"] }
                          - { id: canary, uri: "backend://orders", predicates: ["Path=/b", "Weight=g, 1"] }
                          - { id: other, uri: "backend://orders", predicates: ["Path=/c", "Weight=h, 1"] }
                        weir:
                          backends:
                            orders: { uri: http://orders:8080 }
                          routes:
                            alone: { sticky: client-address }
                            stable: { sticky: "cookie:SID" }
                            canary: {}
                            other: { sticky: "header:X-User" }
                        """,
                        problem(
                                10,
                                "weir.routes.alone.sticky",
                                "client-address",
                                "expected: also the predicate Weight, since it chooses a route of a group"),
                        problem(
                                11,
                                "weir.routes.stable.sticky",
                                "cookie:SID",
                                "expected: the same for route canary of the same weighted group")),
                routePropertiesRow(
                        "a route's deadline longer than its backend's",
                        "deadline: 3s",
                        inRouteProperties("deadline", "3s", "expected: at most the deadline of backend orders, 2s")),
                row(
                        "a route's cap larger than its backend's",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080", bulkhead: { max-concurrent-calls: 64 } }
                            users: { uri: "http://users:8080" }
                          routes:
                            orders: { max-concurrent-calls: 65 }
                        """,
                        problem(
                                8,
                                "weir.routes.orders.max-concurrent-calls",
                                "65",
                                "expected: at most the max-concurrent-calls of backend orders, 64")),
                row(
                        "a route's cap larger than its backend's limit can become",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080", bulkhead: { limit: { max: 64 } } }
                            users: { uri: "http://users:8080" }
                          routes:
                            orders: { max-concurrent-calls: 65 }
                        """,
                        problem(
                                8,
                                "weir.routes.orders.max-concurrent-calls",
                                "65",
                                "expected: at most the bulkhead.limit.max of backend orders, 64")),
                routePropertiesRow(
                        "a route's cap on streams larger than its backend's",
                        "mode: stream, max-concurrent-calls: 300",
                        inRouteProperties(
                                "max-concurrent-calls",
                                "300",
                                "expected: at most the max-streams of backend orders, 256")),
                routePropertiesRow(
                        "an attempt longer than the route's deadline",
                        "deadline: 1s, retry: { attempt-timeout: 1500ms }",
                        inRouteProperties("retry.attempt-timeout", "1500ms", "expected: at most the deadline, 1s")),
                routePropertiesRow(
                        "a wait between attempts longer than the deadline",
                        "retry: { backoff: 5s }",
                        inRouteProperties("retry.backoff", "5s", "expected: at most the deadline, 2s")),
                routePropertiesRow(
                        "a mode that does not exist",
                        "mode: streaming",
                        inRouteProperties("mode", "streaming", "expected: request or stream", "stream")),
                routePropertiesRow(
                        "a fallback to a backend that does not exist",
                        "fallback: { backend: user }",
                        inRouteProperties("fallback.backend", "user", "unknown backend", "users")),
                routePropertiesRow(
                        "a fallback to the route's own backend",
                        "fallback: { backend: orders }",
                        inRouteProperties(
                                "fallback.backend", "orders", "expected: another backend than the route's own")),
                row(
                        "a fallback that is static and another backend",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080" }
                            users: { uri: "http://users:8080" }
                          routes:
                            orders:
                              fallback:
                                backend: users
                                status: 200
                                headers: { X-Fallback: "yes" }
                        """,
                        problem(
                                11,
                                "weir.routes.orders.fallback.status",
                                "200",
                                "expected: a static answer or another backend, not both"),
                        problem(
                                12,
                                "weir.routes.orders.fallback.headers.X-Fallback",
                                null,
                                "expected: a static answer or another backend, not both")),
                row(
                        "a target of the event loops above their limit",
                        """
                        weir:
                          overload: { max-event-loop-delay: 20ms, target-event-loop-delay: 21ms, interval: 2101ms }
                        """,
                        problem(
                                2,
                                "weir.overload.target-event-loop-delay",
                                "21ms",
                                "expected: at most max-event-loop-delay, 20ms"),
                        problem(
                                2,
                                "weir.overload.interval",
                                "2101ms",
                                "expected: at most 100 times target-event-loop-delay, 2100ms")),
                routePropertiesRow(
                        "a reason that does not exist",
                        "fallback: { reasons: [circuit-opened] }",
                        inRouteProperties(
                                "fallback.reasons[0]",
                                "circuit-opened",
                                "expected: circuit-open, bulkhead-full, queue-timeout, queue-evicted, gateway-overloaded, shutting-down, unauthorized, forbidden, rate-limited, deadline-exceeded, connect-timeout, connect-failed, connection-lost, bad-request, payload-too-large, misdirected, uri-too-long, headers-too-large, client-too-slow, no-route, fault-injected, internal-error or client-closed",
                                "circuit-open")),
                routePropertiesRow(
                        "a reason for which there can be no fallback",
                        "fallback: { reasons: [no-route] }",
                        inRouteProperties("fallback.reasons", "no-route", "no fallback is possible for this reason")),
                routePropertiesRow(
                        "a body where there can be none",
                        "fallback: { status: 204, body: \"gone\" }",
                        inRouteProperties(
                                "fallback.body",
                                "gone",
                                "expected: nothing, since an answer with status 204 has no body")),
                row(
                        "a type of content that cannot be",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080" }
                          routes:
                            orders: { fallback: { content-type: "text/plain\\r\\nX: 1" } }
                        """,
                        problem(
                                7,
                                "weir.routes.orders.fallback.content-type",
                                "text/plain X: 1",
                                "expected: text without control characters")),
                row(
                        "headers that cannot be",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080" }
                            users: { uri: "http://users:8080" }
                          routes:
                            orders:
                              fallback:
                                headers:
                                  "[X Y]": 1
                                  Content-Type: text/plain
                                  Content-Length: 3
                        """,
                        problem(11, "weir.routes.orders.fallback.headers.X Y", null, "not the name of a header field"),
                        problem(
                                12,
                                "weir.routes.orders.fallback.headers.Content-Type",
                                null,
                                "use fallback.content-type"),
                        problem(
                                13,
                                "weir.routes.orders.fallback.headers.Content-Length",
                                null,
                                "the gateway sets this field")),
                row(
                        "properties of a route that does not exist",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080" }
                            users: { uri: "http://users:8080" }
                          routes:
                            order: { deadline: 1s }
                        """,
                        problem(8, "weir.routes.order", null, "no route has this id", "orders")),
                row(
                        "properties of a route without a Weir backend",
                        """
                        weir:
                          routes:
                            old: { deadline: 1s }
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: old, uri: "no://op", predicates: ["Path=/old"], filters: ["RedirectTo=302,/new"] }
                        """,
                        problem(
                                3,
                                "weir.routes.old",
                                null,
                                "without effect: the route in %s:5 is not a backend:// route")),
                row(
                        "an id with a dot, without brackets",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: orders.v1, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends.orders.uri: http://orders:8080
                          routes:
                            orders.v1: { deadline: 1s }
                        """,
                        problem(6, "weir.routes.orders", null, "no route has this id", "\"[orders.v1]\""),
                        problem(6, "weir.routes.orders.v1", null, "unknown property")),
                row(
                        "an id that Spring Boot would cut",
                        """
                        spring.cloud.gateway.server.webflux.routes:
                          - { id: "orders:v1", uri: "backend://orders", predicates: ["Path=/orders/**"] }
                        weir:
                          backends:
                            orders: { uri: "http://orders:8080" }
                            users: { uri: "http://users:8080" }
                          routes:
                            "orders:v1": { deadline: 1s }
                        """,
                        problem(
                                8,
                                "weir.routes.orders:v1",
                                null,
                                "Spring Boot reads the name as ordersv1; write \"[orders:v1]\"")),
                row(
                        "Resilience4j's properties for a backend",
                        """
                        weir:
                          backends:
                            orders:
                              uri: http://orders:8080
                        resilience4j:
                          circuitbreaker.instances:
                            orders: { failure-rate-threshold: 10 }
                          timelimiter.instances:
                            orders: { timeout-duration: 1s }
                            other: { timeout-duration: 1s }
                        """,
                        problem(
                                7,
                                "resilience4j.circuitbreaker.instances.orders",
                                null,
                                "without effect on a Weir backend; use weir.backends.orders.circuit-breaker"),
                        problem(
                                9,
                                "resilience4j.timelimiter.instances.orders",
                                null,
                                "without effect on a Weir backend; use weir.backends.orders.deadline")));
    }
}
