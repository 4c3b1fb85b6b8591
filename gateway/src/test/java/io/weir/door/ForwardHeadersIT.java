package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A gateway on Kubernetes, where Spring Boot by itself would trust the forwarded headers of every caller. */
class ForwardHeadersIT {

    private static TestBackend backend;
    /** It trusts no proxy. */
    private static TestGateway edge;
    /** It trusts the tests' address. */
    private static TestGateway behindProxy;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        edge = start("");
        behindProxy = start("edge: { trusted-proxies: [127.0.0.1] }");
    }

    @AfterAll
    static void stop() {
        edge.close();
        behindProxy.close();
        backend.close();
    }

    @BeforeEach
    void forgetRequests() {
        backend.behave(TestBackend.ECHO);
    }

    @Test
    void ignoresThePrefixOfACallerThatIsNoTrustedProxy() throws IOException {
        TestCaller.Answer answer = TestCaller.get(edge.port(), "/pub/1", "X-Forwarded-Prefix: /pub/../secret");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("/pub/1");
    }

    @Test
    void matchesTheAddressOfThePeerIfThePeerIsNoTrustedProxy() throws IOException {
        assertThat(TestCaller.get(edge.port(), "/office/1", "X-Forwarded-For: 192.0.2.7")
                        .status())
                .isEqualTo(404);
        assertThat(TestCaller.get(edge.port(), "/local/1", "X-Forwarded-For: 192.0.2.7")
                        .status())
                .isEqualTo(200);
    }

    @Test
    void matchesTheAddressThatATrustedProxyReports() throws IOException {
        assertThat(TestCaller.get(behindProxy.port(), "/office/1", "X-Forwarded-For: 192.0.2.7")
                        .status())
                .isEqualTo(200);
        assertThat(TestCaller.get(behindProxy.port(), "/office/1", "X-Forwarded-For: 192.0.2.8")
                        .status())
                .isEqualTo(404);
        assertThat(TestCaller.get(behindProxy.port(), "/local/1", "X-Forwarded-For: 192.0.2.7")
                        .status())
                .isEqualTo(404);
    }

    /** Neither the scheme of the connection nor a reported one matters. */
    @Test
    void matchesAHostWithAnyPortAndPassesItOnAsSent() throws Exception {
        for (String path : List.of("/hosted/1", "/hosted-general/1")) {
            for (String host : List.of("Shop.Example:443", "Shop.Example:80", "Shop.Example:8443", "Shop.Example")) {
                for (String scheme : List.of("https", "http")) {
                    assertThat(askHost(behindProxy, path, host, scheme).status())
                            .as("%s, %s", host, scheme)
                            .isEqualTo(200);
                    assertThat(backend.next().header("x-forwarded-host")).isEqualTo(host);
                }
            }
            assertThat(askHost(behindProxy, path, "Shop.Test:443", "https").status())
                    .isEqualTo(404);
        }
    }

    /** As configured, also if the caller has sent the same value, or another one. */
    @Test
    void sendsTheForwardedFieldsThatTheFiltersOfARouteSet() throws Exception {
        for (TestGateway gateway : List.of(edge, behindProxy)) {
            for (String path : List.of("/set/1", "/set-general/1")) {
                for (String scheme : List.of("https", "http")) {
                    assertThat(TestCaller.get(
                                            gateway.port(),
                                            path,
                                            "X-Forwarded-Proto: " + scheme,
                                            "X-Forwarded-Host: forged.example",
                                            "X-Forwarded-For: 192.0.2.7",
                                            "X_Forwarded_Proto: forged")
                                    .status())
                            .isEqualTo(200);
                    TestBackend.Request request = backend.next();
                    assertThat(request.headers("x-forwarded-proto")).containsExactly("https");
                    assertThat(request.headers("x-forwarded-host")).containsExactly("shop.example");
                    assertThat(request.headers("x-forwarded-prefix")).containsExactly("/api");
                    assertThat(request.headers("x-forwarded-port")).isEmpty();
                    assertThat(request.headers("x_forwarded_proto")).isEmpty();
                    assertThat(request.headers("x-forwarded-for"))
                            .containsExactly(gateway == edge ? "127.0.0.1" : "192.0.2.7, 127.0.0.1");
                }
            }
        }
    }

    private static TestCaller.Answer askHost(TestGateway gateway, String path, String host, String scheme)
            throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nX-Forwarded-Proto: " + scheme + "\r\n\r\n");
            return caller.answer();
        }
    }

    private static TestGateway start(String weir) {
        return TestGateway.start("""
                weir:
                  %s
                  backends:
                    orders: { uri: "%s" }
                spring.main.cloud-platform: kubernetes
                spring.cloud.gateway.server.webflux.routes:
                  - { id: pub, uri: "backend://orders", predicates: ["Path=/pub/**", "After=2020-01-01T00:00:00Z"] }
                  - { id: office, uri: "backend://orders", predicates: ["Path=/office/**", "RemoteAddr=192.0.2.7"] }
                  - { id: hosted, uri: "backend://orders", predicates: ["Path=/hosted/**", "Host=shop.example"] }
                  - { id: hosted-general, uri: "backend://orders", predicates: ["Path=/hosted-general/**", "Host={shop}.example", "After=2020-01-01T00:00:00Z"] }
                  - { id: set, uri: "backend://orders", predicates: ["Path=/set/**"], filters: &set
                      ["SetRequestHeader=X-Forwarded-Proto, https", "SetRequestHeader=X-Forwarded-Host, shop.example", "RemoveRequestHeader=X-Forwarded-Port", "StripPrefix=1", "AddRequestHeader=X-Forwarded-Prefix, /api"] }
                  - { id: set-general, uri: "backend://orders", predicates: ["Path=/set-general/**", "After=2020-01-01T00:00:00Z"], filters: *set }
                  - { id: local, uri: "backend://orders", predicates: ["Path=/local/**", "RemoteAddr=127.0.0.1"] }
                """.formatted(weir, backend.uri()));
    }
}
