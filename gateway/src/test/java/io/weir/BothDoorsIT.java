package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What both doors do in the same way, on real sockets. */
class BothDoorsIT {

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.start("""
                weir:
                  backends:
                    orders: { uri: "%s" }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(backend.uri()));
    }

    @AfterEach
    void nothingIsHeld() {
        gateway.assertNothingHeld();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"compiled", "general"})
    void passesARequestAndItsAnswer(String door) throws IOException {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), "/" + door + "/1?q=a%20b");

        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.text()).isEqualTo("/" + door + "/1?q=a%20b");
        assertThat(answer.header("via")).isEqualTo("1.1 weir");
        assertThat(gateway.logged("/" + door + "/1").path("door").asString()).isEqualTo(door);
    }
}
