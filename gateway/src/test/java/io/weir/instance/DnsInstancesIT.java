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
import io.weir.apply.RetiredGenerations;
import io.weir.engine.Backend;
import io.weir.health.Health;
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
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServer;

/** A backend whose instances follow DNS, under load over sockets. */
class DnsInstancesIT {

    private static final int CALLERS = 6;
    private static final String ROUTE = "orders";

    private final List<TestBackend> servers = new ArrayList<>();
    private final NameServer dns = new NameServer("127.0.0.1");
    private @Nullable TestGateway started;

    DnsInstancesIT() {
        servers.add(TestBackend.at("127.0.0.1", 0, TestBackend.ECHO));
        int port = servers.getFirst().port();
        servers.add(TestBackend.at("127.0.0.2", port, TestBackend.ECHO));
        servers.add(TestBackend.at("127.0.0.3", port, TestBackend.ECHO));
    }

    private TestGateway start(String... properties) {
        return startWithDrain("1m", properties);
    }

    /** A busy machine must not end a call on an instance that has left: only one test waits for this time. */
    private TestGateway startWithDrain(String timeout, String... properties) {
        List<String> all = new ArrayList<>(List.of(properties));
        all.add("resolve-interval: 100ms");
        TestGateway gateway = TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .weir("drain: { timeout: " + timeout + ", delay: 0s }")
                .backend(
                        "orders",
                        "http://" + NameServer.NAME + ':' + servers.getFirst().port(),
                        all.toArray(String[]::new))
                .route(ROUTE, "orders")
                .route("stream", "orders", "mode: stream")
                .start();
        started = gateway;
        return gateway;
    }

    @AfterEach
    void close() {
        TestGateway gateway = started;
        if (gateway != null) {
            gateway.assertNothingHeld();
            await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
            gateway.close();
        }
        servers.forEach(TestBackend::close);
        dns.close();
    }

    private Backend backend() {
        return Objects.requireNonNull(started).backend("orders");
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
        return new SteadyCallers(CALLERS, Objects.requireNonNull(started).port(), ROUTE, method);
    }

    /** Also calls that must not be sent twice are not lost. */
    @Test
    void losesNothingWhileAddressesComeLeaveAndAllChange() throws InterruptedException {
        start();
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
        TestGateway gateway = start();
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
        start();
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
        start();
        assertThat(instances()).containsExactly("127.0.0.1");
        resolveTo(addresses);
    }

    @ParameterizedTest
    @CsvSource({"A, [::1]", "AAAA, 127.0.0.1"})
    void usesTheAddressesOfOneFamilyIfTheServerFailsForTheOther(String failing, String used) {
        dns.resolveTo("127.0.0.1", "::1");
        dns.fail(DnsRecordType.valueOf(failing));
        start();
        assertThat(instances()).containsExactly(used);
        assertThat(staleSeconds()).isZero();
    }

    private double staleSeconds() {
        return Objects.requireNonNull(started)
                .bean(MeterRegistry.class)
                .get("weir.addresses.stale")
                .tag("backend", "orders")
                .gauge()
                .value();
    }

    @Test
    void startsWithoutAddressesAndServesWhenDnsAnswers() throws IOException {
        dns.fail(DnsResponseCode.NXDOMAIN);
        TestGateway gateway = start();
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
        TestGateway gateway = TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .backend("orders", servers.getFirst().uri())
                .route(ROUTE, "orders")
                .start();
        started = gateway;
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
        live.withoutReload(() -> assertThat(reload).as("the reload waits").isNotDone());
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
        TestGateway gateway = TestGateway.setup()
                .weir("dns-server: \"" + dns.address() + '"')
                .line("spring.ssl.bundle.pem.trusted.truststore.certificate: |\n"
                        + certificate.getCertificatePEM().strip().indent(2))
                .backend(
                        "orders",
                        "https://" + NameServer.NAME + ':' + server.port(),
                        "connection: { ssl-bundle: trusted }")
                .route(ROUTE, "orders")
                .start();
        started = gateway;
        try (server;
                gateway) {
            assertThat(instances()).containsExactly("127.0.0.1");
            assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path(ROUTE, "secure"))
                            .status())
                    .isEqualTo(status);
            gateway.assertNothingHeld();
        } finally {
            started = null;
        }
    }

    @Test
    void endsAStreamOnAnInstanceThatHasLeftAfterTheDrainTimeout() throws Exception {
        TestGateway gateway = startWithDrain("1s", "stream-idle-timeout: 1m");
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
        TestGateway gateway = start();
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
