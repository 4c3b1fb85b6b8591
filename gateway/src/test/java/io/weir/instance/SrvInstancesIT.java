package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.dns.DnsResponseCode;
import io.weir.testing.Door;
import io.weir.testing.NameServer;
import io.weir.testing.NameServer.Srv;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A backend whose instances, ports, weights and backups are SRV records in DNS. */
class SrvInstancesIT {

    private static final String ORDERS = "orders";

    private final NameServer dns = new NameServer();
    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        dns.serve(record(0, 10, 1), record(1, 10, 3));
        gateway = TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .addressed(ORDERS, "discovery: " + NameServer.SERVICE, "deadline: 60s", "resolve-interval: 100ms")
                .route(ORDERS, ORDERS)
                .start();
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        servers.forEach(TestBackend::close);
        dns.close();
    }

    private Srv record(int server, int priority, int weight) {
        return new Srv(priority, weight, servers.get(server).port(), "node-" + server + ".orders.test", "127.0.0.1");
    }

    /** The instances, such as {@code 0 x3} or {@code 1 x1 backup}. */
    private List<String> instances() {
        return gateway.backend(ORDERS).instances().all().stream()
                .map(instance -> servers.stream()
                                .map(TestBackend::port)
                                .toList()
                                .indexOf(instance.uri().getPort())
                        + " x" + instance.weight() + (instance.isBackup() ? " backup" : ""))
                .sorted()
                .toList();
    }

    private void serve(List<String> expected, Srv... records) {
        dns.serve(records);
        await().atMost(TestGateway.PATIENCE)
                .untilAsserted(() -> assertThat(instances()).isEqualTo(expected));
    }

    /** The second one follows the answer to the first one. */
    private void awaitTwoQueries() {
        int before = dns.queries();
        await().atMost(TestGateway.PATIENCE).until(() -> dns.queries() > before + 1);
    }

    private void call() throws IOException {
        for (Door door : Door.values()) {
            assertThat(TestCaller.get(gateway.port(), door.path(ORDERS, "call")).status())
                    .isEqualTo(200);
        }
    }

    @Test
    void followTheRecordsWithTheirPortsAndWeights() throws Exception {
        assertThat(instances()).containsExactly("0 x1", "1 x3");
        call();

        serve(List.of("1 x3", "2 x7"), record(1, 10, 3), record(2, 10, 7));
        call();
        serve(List.of("1 x5", "2 x7"), record(1, 10, 5), record(2, 10, 7));
        call();
    }

    /** Of 65535 and less, the proportion stays; 0 is the smallest weight. */
    @Test
    void haveWeightsInProportion() throws Exception {
        serve(List.of("0 x1000", "1 x500", "2 x1"), record(0, 10, 60_000), record(1, 10, 30_000), record(2, 10, 0));
        call();
    }

    @Test
    void ofAHigherPriorityNumberAreBackups() throws Exception {
        serve(List.of("0 x1", "1 x1 backup", "2 x1 backup"), record(0, 10, 1), record(1, 20, 1), record(2, 30, 1));
        call();
        assertThat(gateway.backend(ORDERS).instances().all().stream()
                        .filter(Instance::isBackup)
                        .mapToLong(Instance::answeredCalls)
                        .sum())
                .isZero();

        serve(List.of("1 x1", "2 x1 backup"), record(1, 20, 1), record(2, 30, 1));
        call();
    }

    @Test
    void areTheLastKnownOnesWhileDnsFails() throws Exception {
        dns.fail(DnsResponseCode.SERVFAIL);
        awaitTwoQueries();
        assertThat(instances()).containsExactly("0 x1", "1 x3");
        call();

        dns.resolveTo();
        dns.serve(new Srv(0, 0, 0, "", ""));
        awaitTwoQueries();
        assertThat(instances()).containsExactly("0 x1", "1 x3");
        call();
        serve(List.of("2 x1"), record(2, 10, 1));
    }

    /** DNS fails for the addresses of one of them. */
    @Test
    void doNotLeaveBecauseTheLookupOfTheirAddressesFails() throws Exception {
        dns.failFor("node-0.orders.test");
        awaitTwoQueries();
        awaitTwoQueries();
        assertThat(instances()).containsExactly("0 x1", "1 x3");
        call();

        dns.failFor(null);
        serve(List.of("0 x2", "1 x3"), record(0, 10, 2), record(1, 10, 3));
    }

    @Test
    void withoutAnAddressAreLeftOut() throws Exception {
        serve(List.of("2 x7"), new Srv(10, 1, servers.getFirst().port(), "gone.orders.test", ""), record(2, 10, 7));
        call();
    }
}
