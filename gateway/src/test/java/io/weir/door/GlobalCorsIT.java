package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** With CORS configured in the gateway, no route bypasses it. */
class GlobalCorsIT {

    private static final String ORIGIN = "https://shop.example";

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.start("""
            weir:
              backends:
                orders: { uri: "%s" }
            spring.cloud.gateway.server.webflux:
              globalcors:
                add-to-simple-url-handler-mapping: true
                cors-configurations:
                  '[/**]': { allowed-origins: ["%s"], allowed-methods: [GET, PUT] }
              routes:
                - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**", "Method=GET,PUT"] }
            """.formatted(backend.uri(), ORIGIN));
    }

    @AfterAll
    static void stop() {
        gateway.assertNothingHeld();
        gateway.close();
        backend.close();
    }

    @Test
    void compilesNoRoute() {
        assertThat(gateway.bean(LiveRoutes.class).get().views())
                .extracting(RouteView::door, RouteView::why)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(
                        "general", "spring.cloud.gateway.server.webflux.globalcors is set"));
    }

    @Test
    void answersAPreflightRequestInTheGateway() throws IOException {
        int before = backend.requests();
        TestCaller.Answer allowed = preflight(ORIGIN);
        assertThat(allowed.status()).isEqualTo(200);
        assertThat(allowed.header("access-control-allow-origin")).isEqualTo(ORIGIN);
        assertThat(allowed.header("access-control-allow-methods")).contains("PUT");
        assertThat(preflight("https://elsewhere.example").status()).isEqualTo(403);
        assertThat(backend.requests()).isEqualTo(before);
    }

    @Test
    void addsCorsFieldsToResponses() throws IOException {
        TestCaller.Answer allowed = TestCaller.get(gateway.port(), "/orders/1", "Origin: " + ORIGIN);
        assertThat(allowed.text()).isEqualTo("/orders/1");
        assertThat(allowed.header("access-control-allow-origin")).isEqualTo(ORIGIN);
        assertThat(TestCaller.get(gateway.port(), "/orders/1", "Origin: https://elsewhere.example")
                        .status())
                .isEqualTo(403);
    }

    private static TestCaller.Answer preflight(String origin) throws IOException {
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            return caller.request("OPTIONS", "/orders/1", "Origin: " + origin, "Access-Control-Request-Method: PUT");
        }
    }
}
