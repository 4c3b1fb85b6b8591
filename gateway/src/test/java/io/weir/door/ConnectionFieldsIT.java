package io.weir.door;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;

/** Fields of callers, through both doors: those that {@code Connection} names, and the mark of probes. */
@Timeout(60)
class ConnectionFieldsIT {

    private static TestBackend backend;
    private static TestGateway gateway;

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .backend("orders", backend.uri())
                .filtered(
                        "filtered", "orders", "\"AddRequestHeader=X-Tenant, acme\", \"SetRequestHeader=X-Zone, edge\"")
                .start();
    }

    @AfterAll
    static void stop() {
        gateway.close();
        backend.close();
    }

    @Door.Each
    void keepsTheFieldsOfFiltersThatACallerNames(Door door) throws Exception {
        assertThat(TestCaller.get(
                                gateway.port(),
                                door.path("filtered", "1"),
                                "Connection: X-Tenant, x-zone, X-Hop",
                                "X-Tenant: mallory",
                                "X-Hop: 1")
                        .status())
                .isEqualTo(200);

        TestBackend.Request seen = backend.next();
        assertThat(seen.header("x-tenant")).isEqualTo("acme");
        assertThat(seen.header("x-zone")).isEqualTo("edge");
        assertThat(seen.header("x-hop")).isNull();
        assertThat(seen.head()).doesNotContain("mallory");
    }

    @Door.Each
    void removesTheMarkOfProbesInEverySpelling(Door door) throws Exception {
        assertThat(TestCaller.get(
                                gateway.port(),
                                door.path("filtered", "1"),
                                "Weir-Probe: shadow",
                                "weir-probe: health-check",
                                "Weir_Probe: shadow",
                                "Weir-Probed: 1")
                        .status())
                .isEqualTo(200);

        TestBackend.Request seen = backend.next();
        assertThat(seen.head().toLowerCase(Locale.ROOT)).doesNotContainPattern("weir.probe:");
        assertThat(seen.header("weir-probed")).isEqualTo("1");
    }
}
