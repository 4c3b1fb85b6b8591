package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.netty.handler.codec.dns.DnsRecordType;
import io.netty.handler.codec.dns.DnsResponseCode;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.weir.engine.Backend;
import io.weir.health.Health;
import io.weir.live.RetiredGenerations;
import io.weir.reload.ConfigurationChange;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.NameServer;
import io.weir.testing.SteadyCallers;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServer;

/**
 * A backend whose instances follow DNS, under load over sockets. Tests share a gateway, which has no such
 * backend between them, unless they are about a start or need other properties of it.
 */
class DnsInstancesIT {

    private static final int CALLERS = 6;
    private static final String ROUTE = "orders";
    /** A busy machine must not end a call on an instance that has left: only one test waits for this time. */
    private static final String USUAL_DRAIN = "1m";

    private final List<TestBackend> servers = new ArrayList<>();
    private static NameServer dns;
    private static TestGateway common;

    private TestGateway gateway;

    DnsInstancesIT() {
        servers.add(TestBackend.at("127.0.0.1", 0, TestBackend.ECHO));
        int port = servers.getFirst().port();
        servers.add(TestBackend.at("127.0.0.2", port, TestBackend.ECHO));
        servers.add(TestBackend.at("127.0.0.3", port, TestBackend.ECHO));
    }

    @BeforeAll
    static void startCommon() {
        dns = new NameServer("127.0.0.1");
        common = setup(USUAL_DRAIN).start();
    }

    @AfterAll
    static void closeCommon() {
        common.close();
        dns.close();
    }

    @BeforeEach
    void useCommon() {
        gateway = common;
    }

    private static TestGateway.Setup setup(String drainTimeout) {
        return TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .weir("reload: { watch: false }")
                .weir("drain: { timeout: " + drainTimeout + ", delay: 0s }");
    }

    private TestGateway.Setup withOrders(String drainTimeout, String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        all.add("resolve-interval: 100ms");
        return setup(drainTimeout)
                .backend(
                        "orders",
                        "http://" + NameServer.NAME + ':' + servers.getFirst().port(),
                        all.toArray(String[]::new))
                .route(ROUTE, "orders")
                .route("stream", "orders", "mode: stream");
    }

    /** Adds the backend to the shared gateway. */
    private void begin() {
        withOrders(USUAL_DRAIN).reload(common);
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        if (gateway == common) {
            setup(USUAL_DRAIN).reload(common);
        }
        await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
        if (gateway != common) {
            gateway.close();
        }
        servers.forEach(TestBackend::close);
        dns.recover("127.0.0.1");
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private List<String> instances() {
        return backend().instances().all().stream()
                .map(instance -> instance.uri().getHost())
                .toList();
    }

    private void resolveTo(String... addresses) {
        dns.resolveTo(addresses);
        await().untilAsserted(() -> assertThat(instances()).containsExactly(addresses));
    }

    private SteadyCallers callers(String method) {
        return new SteadyCallers(CALLERS, gateway.port(), ROUTE, method);
    }

    /** Also calls that must not be sent twice are not lost. */
    @Test
    void losesNothingWhileAddressesComeLeaveAndAllChange() throws InterruptedException {
        begin();
        SteadyCallers callers = callers("POST");
        callers.awaitMore(50);
        resolveTo("127.0.0.1", "127.0.0.2");
        callers.awaitMore(50);
        resolveTo("127.0.0.1", "127.0.0.2", "127.0.0.3");
        callers.awaitMore(50);
        assertThat(servers).allSatisfy(server -> assertThat(server.requests()).isPositive());
        resolveTo("127.0.0.2");
        callers.awaitMore(50);
        resolveTo("127.0.0.1", "127.0.0.3");
        callers.awaitMore(50);
        resolveTo("127.0.0.2");
        int first = servers.getFirst().requests();
        for (int i = 0; i < 4; i++) {
            resolveTo(i % 2 == 0 ? "127.0.0.1" : "127.0.0.3");
            callers.awaitMore(20);
        }
        assertThat(servers.getFirst().requests()).isGreaterThan(first);
        assertThat(callers.stop()).isEmpty();
        assertThat(servers.getFirst().next().header("host"))
                .isEqualTo(NameServer.NAME + ':' + servers.getFirst().port());
        // The connections to an instance that has left are closed.
        resolveTo("127.0.0.2");
        await().until(() -> servers.getFirst().connections() == 0);
    }

    @Test
    void keepsHealthLimitAndMetersOfTheBackendWhileItsAddressChanges() throws IOException {
        begin();
        Health health = backend().health();
        assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path(ROUTE, "one"))
                        .status())
                .isEqualTo(200);
        Pool pool = backend().instances().first().pool();
        resolveTo("127.0.0.2");
        assertThat(backend().health()).isSameAs(health);
        assertThat(backend().instances().isSingle()).isTrue();
        assertThat(backend().instances().first().pool()).isNotSameAs(pool);
        assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path(ROUTE, "two"))
                        .status())
                .isEqualTo(200);
        gateway.assertFed("orders", 2, 0, 0);
        assertThat(servers.get(1).requests()).isOne();
    }

    @Test
    void keepsTheLastKnownAddressesWhileDnsFails() {
        begin();
        resolveTo("127.0.0.1", "127.0.0.2");
        Instances known = backend().instances();
        SteadyCallers callers = callers("GET");
        for (Runnable fault : List.<Runnable>of(
                () -> dns.fail(DnsResponseCode.NXDOMAIN), () -> dns.fail(DnsResponseCode.SERVFAIL), dns::resolveTo)) {
            fault.run();
            int asked = dns.queries();
            await().until(() -> dns.queries() >= asked + 3);
            callers.awaitMore(20);
        }
        assertThat(backend().instances()).isSameAs(known);
        dns.silence();
        callers.awaitMore(50);
        assertThat(callers.stop()).isEmpty();
        assertThat(backend().instances()).isSameAs(known);
        assertThat(staleSeconds()).isPositive();
    }

    @Test
    void readsAnAnswerThatDoesNotFitIntoADatagramOverTcp() {
        String[] addresses = IntStream.rangeClosed(10, 69)
                .mapToObj(number -> "127.0.0." + number)
                .toArray(String[]::new);
        dns.truncate();
        begin();
        assertThat(instances()).containsExactly("127.0.0.1");
        resolveTo(addresses);
    }

    @ParameterizedTest
    @CsvSource({"A, [::1]", "AAAA, 127.0.0.1"})
    void usesTheAddressesOfOneFamilyIfTheServerFailsForTheOther(String failing, String used) {
        dns.resolveTo("127.0.0.1", "::1");
        dns.fail(DnsRecordType.valueOf(failing));
        begin();
        assertThat(instances()).containsExactly(used);
        assertThat(staleSeconds()).isZero();
    }

    private double staleSeconds() {
        return gateway.bean(MeterRegistry.class)
                .get("weir.addresses.stale")
                .tag("backend", "orders")
                .gauge()
                .value();
    }

    @Test
    void startsWithoutAddressesAndServesWhenDnsAnswers() throws IOException {
        dns.fail(DnsResponseCode.NXDOMAIN);
        gateway = withOrders(USUAL_DRAIN).start();
        for (Door door : Door.values()) {
            // More calls than the breaker needs: none of them is evidence against the backend.
            for (int i = 0; i < 30; i++) {
                TestCaller.Answer refused = TestCaller.get(gateway.port(), door.path(ROUTE, "early-" + i));
                assertThat(refused.status()).isEqualTo(502);
                assertThat(refused.reason()).isEqualTo("connect-failed");
            }
        }
        assertThat(staleSeconds()).isPositive();
        resolveTo("127.0.0.1", "127.0.0.2");
        assertThat(staleSeconds()).isZero();
        SteadyCallers callers = callers("POST");
        callers.awaitMore(50);
        assertThat(callers.stop()).isEmpty();
    }

    /** Only the reload waits, for all five seconds of a first lookup, and the calls to its backends go on. */
    @Test
    @Tag("full")
    void operatorsDoNotWaitForTheDnsOfABackendThatAReloadAdds() throws Exception {
        gateway = setup(USUAL_DRAIN)
                .backend("orders", servers.getFirst().uri())
                .route(ROUTE, "orders")
                .start();
        LiveConfiguration live = gateway.bean(LiveConfiguration.class);
        dns.silence();
        int asked = dns.queries();
        String yaml = Files.readString(gateway.file());
        gateway.rewrite(yaml.replace("  backends:\n", "  backends:\n    stock: { uri: \"http://stock.test\" }\n"));

        CompletableFuture<ConfigurationChange> reload = CompletableFuture.supplyAsync(
                () -> live.reload(Trigger.REQUEST, "a test"), task -> new Thread(task).start());
        await().until(() -> dns.queries() > asked || reload.isDone());

        assertThat(live.change("orders", Map.of("max-concurrent-calls", "9"), "alice", null)
                        .isOk())
                .isTrue();
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(9);
        assertThat(live.withoutReload(() -> "forced")).isEqualTo("forced");
        assertThat(reload).as("the reload waits").isNotDone();
        assertThat(reload.get().problems()).isEmpty();
        assertThat(gateway.backend("stock").instances().first().address().isKnown())
                .isFalse();
        assertThat(backend().bulkhead().maxConcurrentCalls()).isEqualTo(9);
    }

    /** The certificate is checked against the name, although the gateway connects to an address. */
    @ParameterizedTest
    @CsvSource({"orders.test, 200", "127.0.0.1, 502"})
    void checksTheCertificateAgainstTheName(String certified, int status) throws Exception {
        CertificateBuilder builder =
                new CertificateBuilder().subject("CN=" + certified).setIsCertificateAuthority(true);
        X509Bundle certificate = (status == 200 ? builder.addSanDnsName(certified) : builder.addSanIpAddress(certified))
                .buildSelfSigned();
        SslContext tls =
                SslContextBuilder.forServer(certificate.toKeyManagerFactory()).build();
        TestServer server = TestServer.start(HttpServer.create()
                .secure(spec -> spec.sslContext(tls))
                .handle((request, response) -> response.sendString(Mono.just("secure"))));
        TestGateway trusting = setup(USUAL_DRAIN)
                .line("spring.ssl.bundle.pem.trusted.truststore.certificate: |\n"
                        + certificate.getCertificatePEM().strip().indent(2))
                .backend(
                        "orders",
                        "https://" + NameServer.NAME + ':' + server.port(),
                        "connection: { ssl-bundle: trusted }")
                .route(ROUTE, "orders")
                .start();
        gateway = trusting;
        try (server;
                trusting) {
            assertThat(instances()).containsExactly("127.0.0.1");
            assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path(ROUTE, "secure"))
                            .status())
                    .isEqualTo(status);
            gateway.assertNothingHeld();
        } finally {
            gateway = common;
        }
    }

    @Test
    void endsAStreamOnAnInstanceThatHasLeftAfterTheDrainTimeout() throws Exception {
        gateway = withOrders("1s", "stream-idle-timeout: 1m").start();
        CountDownLatch held = new CountDownLatch(1);
        servers.getFirst().behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
            held.await();
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", Door.COMPILED.path("stream", "long")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("first");
            resolveTo("127.0.0.2");
            assertThat(caller.isReset()).isTrue();
        } finally {
            held.countDown();
        }
        gateway.assertTold(Door.COMPILED, "stream", Door.COMPILED.path("stream", "long"), 200, "connection-lost");
    }

    @Test
    void completesACallOnAnInstanceThatHasLeft() throws Exception {
        begin();
        CountDownLatch held = new CountDownLatch(1);
        servers.getFirst().behave((request, conversation) -> {
            held.await();
            conversation.answer(200, "late");
        });
        var answer = TestCaller.ask(gateway.port(), Door.COMPILED.path(ROUTE, "late"));
        await().until(() -> servers.getFirst().requests() == 1);
        resolveTo("127.0.0.2");
        SteadyCallers callers = callers("GET");
        callers.awaitMore(20);
        held.countDown();
        assertThat(answer.get().text()).isEqualTo("late");
        assertThat(callers.stop()).isEmpty();
    }
}
