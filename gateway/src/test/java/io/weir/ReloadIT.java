package io.weir;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.Backend;
import io.weir.reload.Change;
import io.weir.reload.Change.Trigger;
import io.weir.reload.LiveConfiguration;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a change of the configuration changes, and what it leaves alone. */
class ReloadIT {

    private TestBackend backend;
    private TestGateway gateway;

    @BeforeEach
    void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.start(yaml("{ max-concurrent-calls: 4 }"));
    }

    @AfterEach
    void stop() {
        gateway.assertNothingHeld();
        gateway.close();
        backend.close();
    }

    private String yaml(String bulkhead) {
        return """
                weir:
                  backends:
                    orders: { uri: "%s", bulkhead: %s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "backend://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "backend://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(backend.uri(), bulkhead);
    }

    private Change reload(String yaml) {
        gateway.rewrite(yaml);
        return gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
    }

    @Test
    void takesANewLimitInPlace() throws IOException {
        Backend before = gateway.backend("orders");

        Change change = reload(yaml("{ max-concurrent-calls: 7 }"));

        assertThat(change.problems()).isEmpty();
        assertThat(change.differences())
                .extracting(Object::toString)
                .containsExactly("weir.backends.orders.bulkhead.max-concurrent-calls: 4 -> 7");
        assertThat(gateway.backend("orders").bulkhead()).isSameAs(before.bulkhead());
        assertThat(before.bulkhead().maxConcurrentCalls()).isEqualTo(7);
        for (String door : new String[] {"compiled", "general"}) {
            assertThat(TestCaller.get(gateway.port(), "/" + door + "/1").status())
                    .isEqualTo(200);
        }
    }

    @Test
    void changesNothingIfNothingIsDifferent() {
        Backend before = gateway.backend("orders");

        Change change = reload(yaml("{ max-concurrent-calls: 4 }"));

        assertThat(change.problems()).isEmpty();
        assertThat(change.differences()).isEmpty();
        assertThat(gateway.backend("orders")).isSameAs(before);
    }
}
