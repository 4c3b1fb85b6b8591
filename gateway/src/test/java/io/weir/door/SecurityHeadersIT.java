package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.Leaks;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The header fields that make browsers careful, through both doors. */
@ExtendWith(Leaks.class)
class SecurityHeadersIT {

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.start((request, conversation) ->
                conversation.write("HTTP/1.1 200 OK\r\nX-Frame-Options: DENY\r\nContent-Length: 2\r\n\r\nok"));
        gateway = TestGateway.setup()
                .weir("edge: { trusted-proxies: [127.0.0.1], security-headers: true }")
                .backend("orders", backend.uri(), "deadline: 20s")
                .route("page", "orders")
                .route("closed", "orders", "access: { allow: [10.0.0.0/8] }")
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @Door.Both
    void addsTheFieldsThatTheBackendHasNotSet(Door door) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("page", "1"), "X-Forwarded-Proto: https");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.header("strict-transport-security")).isEqualTo("max-age=31536000");
        assertThat(answer.header("x-content-type-options")).isEqualTo("nosniff");
        assertThat(answer.header("referrer-policy")).isEqualTo("strict-origin-when-cross-origin");
        assertThat(answer.header("x-frame-options")).as("the backend's").isEqualTo("DENY");
    }

    @Door.Both
    void asksForHttpsOnHttpsOnly(Door door) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("page", "2"));

        assertThat(answer.header("strict-transport-security")).isNull();
        assertThat(answer.header("x-content-type-options")).isEqualTo("nosniff");
    }

    @Door.Both
    void addsThemToRefusals(Door door) throws IOException {
        TestCaller.Answer refused =
                TestCaller.get(gateway.port(), door.path("closed", "3"), "X-Forwarded-Proto: https");

        assertThat(refused.status()).isEqualTo(403);
        assertThat(refused.header("strict-transport-security")).isEqualTo("max-age=31536000");
        assertThat(refused.header("x-frame-options")).isEqualTo("SAMEORIGIN");
    }

    @Test
    void addsThemWhereNoRouteMatches() throws IOException {
        TestCaller.Answer refused = TestCaller.get(gateway.port(), "/nowhere");

        assertThat(refused.status()).isEqualTo(404);
        assertThat(refused.header("x-content-type-options")).isEqualTo("nosniff");
    }
}
