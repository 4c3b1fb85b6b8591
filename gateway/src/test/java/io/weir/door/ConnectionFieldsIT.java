package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.OneBackendTests;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.util.Locale;
import org.junit.jupiter.api.BeforeAll;

/** Fields of callers, through both doors: those that {@code Connection} names, and the mark of probes. */
class ConnectionFieldsIT extends OneBackendTests {

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend("orders", backend.uri())
                .filtered(
                        "filtered", "orders", "\"AddRequestHeader=X-Tenant, acme\", \"SetRequestHeader=X-Zone, edge\"")
                .start();
    }

    /** The backend's view of a request with these fields. */
    private static TestBackend.Request forwarded(Door door, String... fields) throws Exception {
        TestCaller.Answer answer = TestCaller.get(gateway.port(), door.path("filtered", "1"), fields);
        assertThat(answer.status()).isEqualTo(200);
        return backend.next();
    }

    @Door.Both
    void keepsTheFieldsOfFiltersThatACallerNames(Door door) throws Exception {
        TestBackend.Request seen =
                forwarded(door, "Connection: X-Tenant, x-zone, X-Hop", "X-Tenant: mallory", "X-Hop: 1");

        assertThat(seen.header("x-tenant")).isEqualTo("acme");
        assertThat(seen.header("x-zone")).isEqualTo("edge");
        assertThat(seen.header("x-hop")).isNull();
        assertThat(seen.head()).doesNotContain("mallory");
    }

    @Door.Both
    void removesTheMarkOfProbesInEverySpelling(Door door) throws Exception {
        TestBackend.Request seen = forwarded(
                door, "Weir-Probe: shadow", "weir-probe: health-check", "Weir_Probe: shadow", "Weir-Probed: 1");

        assertThat(seen.head().toLowerCase(Locale.ROOT)).doesNotContainPattern("weir.probe:");
        assertThat(seen.header("weir-probed")).isEqualTo("1");
    }
}
