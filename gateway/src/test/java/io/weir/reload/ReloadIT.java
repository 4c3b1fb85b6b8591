package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.search.RequiredSearch;
import io.weir.apply.RetiredGenerations;
import io.weir.cluster.FakeDns;
import io.weir.cluster.GatewayCount;
import io.weir.door.LiveRoutes;
import io.weir.door.Routes;
import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.instance.Pool;
import io.weir.limit.QueueingBulkhead;
import io.weir.management.WeirEndpoint;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.testing.Door;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import io.weir.testing.UnwillingPort;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.cloud.gateway.event.RefreshRoutesEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ApplicationEventMulticaster;

/**
 * The effect of a reload on the configuration, on retained objects, and on requests in flight. Tests share a
 * gateway, since a start takes longer than a test: each begins with a new backend {@code orders}, which no
 * test before has used. A test that changes more than the configuration starts a gateway of its own.
 */
class ReloadIT {

    private static final String SMALL =
            "bulkhead: { max-concurrent-calls: 2, queue-capacity: 4, max-wait-duration: 20s }";
    private static final String PATIENT = "deadline: 60s, circuit-breaker: { slow-call-duration-threshold: 60s }";

    private static final String PAGE = "A line that repeats itself.\n".repeat(100);
    private static final TestBackend.Behaviour ANSWERS_PAGE = (request, conversation) -> conversation.write(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + PAGE.length() + "\r\n\r\n" + PAGE);

    /**
     * The shared gateway first. They close together, since the first one to close stops the event loops of
     * all.
     */
    private static final List<TestGateway> GATEWAYS = new ArrayList<>();

    private final HeldCalls calls = new HeldCalls();
    private TestBackend backend;
    private TestBackend other;
    private TestGateway gateway;

    @BeforeEach
    void start() {
        backend = TestBackend.healthy();
        other = TestBackend.start((request, conversation) -> conversation.answer(200, "other"));
        if (GATEWAYS.isEmpty()) {
            GATEWAYS.add(TestGateway.start(yaml("between-tests", other)));
        }
        gateway = GATEWAYS.getFirst();
        reloaded(yaml("between-tests", other));
        awaitNoResources("orders");
        reloaded(yaml(backend, SMALL, PATIENT));
        awaitNoResources("between-tests");
    }

    private void startOwnGateway(String yaml) {
        gateway = TestGateway.start(yaml);
        GATEWAYS.add(gateway);
    }

    @AfterEach
    void stop() {
        calls.release();
        gateway.assertNothingHeld();
        backend.close();
        other.close();
    }

    @AfterAll
    static void stopGateways() {
        GATEWAYS.forEach(TestGateway::close);
        GATEWAYS.clear();
    }

    /** A backend {@code orders} with these properties, and a route through each door. */
    private static String yaml(TestBackend backend, String... properties) {
        return yaml("orders", backend, properties);
    }

    private static String yaml(String name, TestBackend backend, String... properties) {
        String more = properties.length == 0 ? "" : ", " + String.join(", ", properties);
        return """
                weir:
                  backends:
                    %1$s: { uri: "%2$s"%3$s }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders-compiled, uri: "backend://%1$s", predicates: ["Path=/compiled/orders/**"] }
                  - { id: orders-general, uri: "backend://%1$s", predicates: ["Path=/general/orders/**", "After=2020-01-01T00:00:00Z"] }
                """.formatted(name, backend.uri(), more);
    }

    private ConfigurationChange reload(String yaml) {
        gateway.rewrite(yaml);
        return reload();
    }

    private ConfigurationChange reload() {
        return gateway.bean(LiveConfiguration.class).reload(Trigger.REQUEST, "a test");
    }

    private void reloaded(String yaml) {
        assertThat(reload(yaml).problems()).isEmpty();
    }

    private CompletableFuture<TestCaller.Answer> send(Door door) {
        return CompletableFuture.supplyAsync(() -> get(door), Thread::startVirtualThread);
    }

    private TestCaller.Answer get(Door door) {
        try {
            return TestCaller.get(gateway.port(), door.path("orders", "1"));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    // ---------------------------------------------------------------- applied changes

    @Test
    void changesALimitInPlace() {
        Backend before = gateway.backend("orders");

        ConfigurationChange change = reload(yaml(backend, SMALL.replace("calls: 2", "calls: 7"), PATIENT));

        assertThat(change.problems()).isEmpty();
        assertThat(change.differences())
                .extracting(Object::toString)
                .contains("weir.backends.orders.bulkhead.max-concurrent-calls: 2 -> 7");
        assertThat(gateway.backend("orders").bulkhead()).isSameAs(before.bulkhead());
        assertThat(before.bulkhead().maxConcurrentCalls()).isEqualTo(7);
        assertThat(gateway.backend("orders").instances().first().pool())
                .isSameAs(before.instances().first().pool());
        assertThat(gateway.backend("orders").observer()).isSameAs(before.observer());
    }

    @Test
    void doesNothingWithoutADifference() {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        Backend before = gateway.backend("orders");

        ConfigurationChange change = reload();

        assertThat(change.problems()).isEmpty();
        assertThat(change.differences()).isEmpty();
        assertThat(gateway.backend("orders")).isSameAs(before);
        assertThat(gateway.bean(LiveConfiguration.class).history().changes()).isEmpty();
    }

    /** The configured limit, and this gateway's share of it as one of three or of thirty gateways. */
    @Test
    void dividesALimitOfScopeCluster() {
        try (FakeDns dns = new FakeDns(3)) {
            String among = "weir:\n  cluster: { gateways: %s, dns-server: \"%s\", refresh-interval: 100ms }"
                    .formatted(FakeDns.NAME, dns.address());
            startOwnGateway(yaml(backend, limit(10, "gateway")).replace("weir:", among));
            QueueingBulkhead bulkhead = gateway.backend("orders").bulkhead();
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(10);
            await().until(() -> gateway.bean(GatewayCount.class).gateways() == 3);

            reloaded(yaml(backend, limit(10, "cluster")).replace("weir:", among));
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(3);
            reloaded(yaml(backend, limit(12, "cluster")).replace("weir:", among));
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(4);
            assertThat(gauge("weir.permits.floored")).isZero();

            dns.gateways(30);
            await().until(() -> bulkhead.maxConcurrentCalls() == 1);
            await().until(() -> gauge("weir.permits.floored") == 1);
            reloaded(yaml(backend, limit(60, "cluster") + ", max-streams: 7").replace("weir:", among));
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(2);
            assertThat(gauge("weir.permits.floored")).isZero();
            assertThat(gateway.bean(LiveConfiguration.class)
                            .change("orders", Map.of("max-concurrent-calls", "90"), "a test", null)
                            .problems())
                    .isEmpty();
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(3);
            assertThat(gateway.bean(LiveConfiguration.class)
                            .release("orders", "a test")
                            .problems())
                    .isEmpty();
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(2);

            // A limit in dry run is divided too, and so is the limit of a new backend.
            String both = yaml(backend, limit(60, "cluster").replace("scope", "enforce: false, scope"))
                    .replace(
                            "    orders: {",
                            "    stock: { uri: \"" + other.uri() + "\", " + limit(60, "cluster") + " }\n    orders: {")
                    .replace("weir:", among);
            reloaded(both);
            assertThat(Objects.requireNonNull(
                                    gateway.backend("orders").bulkhead().dryRun())
                            .maxConcurrentCalls())
                    .isEqualTo(2);
            assertThat(gateway.backend("stock").bulkhead().maxConcurrentCalls()).isEqualTo(2);

            reloaded(yaml(backend, limit(12, "gateway")).replace("weir:", among));
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(12);
            dns.gateways(2);
            await().until(() -> gateway.bean(GatewayCount.class).gateways() == 2);
            reloaded(yaml(backend, limit(13, "gateway")).replace("weir:", among));
            assertThat(bulkhead.maxConcurrentCalls()).isEqualTo(13);
        }
    }

    private static String limit(int calls, String scope) {
        return "bulkhead: { max-concurrent-calls: " + calls + ", scope: " + scope + " }";
    }

    @Door.Any
    void usesANewPoolForANewAddress(Door door) {
        assertThat(get(door).text()).isEqualTo(door.path("orders", "1"));
        Backend before = gateway.backend("orders");
        Pool pool = before.instances().first().pool();

        reloaded(yaml(other, SMALL, PATIENT));

        assertThat(gateway.backend("orders").instances().first().pool()).isNotSameAs(pool);
        assertThat(gateway.backend("orders").health()).isSameAs(before.health());
        assertThat(get(door).text()).isEqualTo("other");
        // The old pool drains: its idle connection is closed long before its idle time-out.
        await().until(() -> backend.connections() == 0);
    }

    @Door.Any
    void addsAndRemovesARoute(Door door) {
        String without = """
                weir: { backends: { orders: { uri: "%s" } } }
                """.formatted(backend.uri());

        reloaded(without);
        assertThat(get(door).status()).isEqualTo(404);

        reloaded(yaml(backend));
        assertThat(get(door).status()).isEqualTo(200);
    }

    /** A filter adds the route and the door to the answer. */
    @Door.Each
    void appliesChangedFilters(Door door) {
        String filtered =
                yaml(backend, SMALL, PATIENT).replace("predicates:", "filters: [SetPath=/elsewhere], predicates:");

        reloaded(filtered);

        assertThat(get(door).text()).isEqualTo("/elsewhere");
    }

    private String withAnswerRules(String origin, String minSize) {
        return yaml(backend, SMALL, PATIENT) + """
                weir.routes:
                  orders-compiled: { cors: { allowed-origins: [ "%1$s" ] }, compression: { min-size: %2$s } }
                  orders-general: { cors: { allowed-origins: [ "%1$s" ] }, compression: { min-size: %2$s } }
                """.formatted(origin, minSize);
    }

    /** Asks as a page of the shop does; the rules that the answer shows. */
    private String browse(Door door) {
        try {
            TestCaller.Answer answer = TestCaller.get(
                    gateway.port(), door.path("orders", "1"), "Origin: https://shop.example", "Accept-Encoding: gzip");
            String encoding = answer.header("content-encoding");
            byte[] body = encoding == null
                    ? answer.body()
                    : new GZIPInputStream(new ByteArrayInputStream(answer.body())).readAllBytes();
            assertThat(new String(body, StandardCharsets.UTF_8)).isEqualTo(PAGE);
            return answer.status() + " " + answer.header("access-control-allow-origin") + " " + encoding;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private CompletableFuture<String> browsing(Door door) {
        return CompletableFuture.supplyAsync(() -> browse(door), Thread::startVirtualThread);
    }

    /** A call keeps the rules with which it began. */
    @Door.Each
    void changesCorsAndCompressionWithoutLosingACall(Door door) throws Exception {
        String without = "200 null null";
        String with = "200 https://shop.example gzip";
        backend.behave(calls);
        CompletableFuture<String> begunBefore = browsing(door);
        HeldCalls.Held before = calls.next();

        reloaded(withAnswerRules("https://shop.example", "1KB"));
        CompletableFuture<String> begunAfter = browsing(door);
        HeldCalls.Held after = calls.next();
        reloaded(withAnswerRules("https://other.example", "1MB"));
        before.then(ANSWERS_PAGE);
        after.then(ANSWERS_PAGE);

        assertThat(begunBefore.join()).isEqualTo(without);
        assertThat(begunAfter.join()).isEqualTo(with);
        backend.behave(ANSWERS_PAGE);
        assertThat(browse(door)).as("another origin, a larger size").isEqualTo(without);
        reloaded(withAnswerRules("https://shop.example", "1KB"));
        assertThat(browse(door)).isEqualTo(with);
        reloaded(yaml(backend, SMALL, PATIENT));
        assertThat(browse(door)).isEqualTo(without);
    }

    @Door.Any
    void answersEveryCallWhileCorsAndCompressionChange(Door door) {
        backend.behave(ANSWERS_PAGE);
        AtomicBoolean isDone = new AtomicBoolean();
        CompletableFuture<Set<String>> seen = CompletableFuture.supplyAsync(
                () -> {
                    Set<String> answers = new HashSet<>();
                    while (!isDone.get()) {
                        answers.add(browse(door));
                    }
                    return answers;
                },
                Thread::startVirtualThread);
        for (int i = 0; i < 4; i++) {
            reloaded(withAnswerRules("https://shop.example", "1KB"));
            assertThat(browse(door)).isEqualTo("200 https://shop.example gzip");
            reloaded(yaml(backend, SMALL, PATIENT));
            assertThat(browse(door)).isEqualTo("200 null null");
        }
        isDone.set(true);

        assertThat(seen.join()).isSubsetOf("200 https://shop.example gzip", "200 null null");
    }

    @Test
    void movesARouteToTheOtherDoor() {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        assertThat(get(Door.COMPILED).status()).isEqualTo(200);

        reloaded(yaml(backend, SMALL, PATIENT)
                .replace(
                        "[\"Path=/compiled/orders/**\"]",
                        "[\"Path=/compiled/orders/**\", \"After=2020-01-01T00:00:00Z\"]"));

        assertThat(get(Door.COMPILED).status()).isEqualTo(200);
        await().untilAsserted(() -> assertThat(gateway.lines(Door.COMPILED.path("orders", "1")))
                .extracting(line -> line.path("door").asString())
                .containsExactly("compiled", "general"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void choosesOnlyAmongExistingWeightedRoutes(boolean first) {
        String weighted = """
                weir:
                  backends: { orders: { uri: "%s" }, gone: { uri: "%s" } }
                spring.cloud.gateway.server.webflux.routes:
                """.formatted(backend.uri(), other.uri());
        String one = """
                  - { id: one, uri: "backend://orders", predicates: ["Path=/general/orders/**", "Weight=group, %d"] }
                """;
        String two = """
                  - { id: two, uri: "backend://gone", predicates: ["Path=/general/orders/**", "Weight=group, %d"] }
                """;
        reloaded(weighted + one.formatted(5) + two.formatted(5));

        reloaded(weighted + (first ? one : two).formatted(5));

        for (int i = 0; i < 20; i++) {
            assertThat(get(Door.GENERAL).text()).isEqualTo(first ? Door.GENERAL.path("orders", "1") : "other");
        }
    }

    // ---------------------------------------------------------------- breakers

    @Test
    void keepsABreakerWithUnchangedSettings() {
        Backend before = gateway.backend("orders");
        before.health().resilience4j().transitionToOpenState();

        reloaded(yaml(backend, SMALL.replace("calls: 2", "calls: 9"), PATIENT));

        assertThat(gateway.backend("orders").health()).isSameAs(before.health());
        assertThat(registered("orders").getState()).isEqualTo(CircuitBreaker.State.OPEN);
    }

    @Test
    void keepsAnOpenBreakerIfTheLimitChanges() {
        Backend before = gateway.backend("orders");
        before.health().resilience4j().transitionToOpenState();

        reloaded(yaml(backend, SMALL.replace("calls: 2", "calls: 90"), PATIENT));

        assertThat(gateway.backend("orders").health()).isSameAs(before.health());
        assertThat(registered("orders")).isSameAs(before.health().resilience4j());
        assertThat(registered("orders").getState()).isEqualTo(CircuitBreaker.State.OPEN);
    }

    @Test
    void closesABreakerWithChangedSettings() {
        gateway.backend("orders").health().resilience4j().transitionToOpenState();

        reloaded(yaml(backend, SMALL, PATIENT.replace("threshold: 60s", "threshold: 50s")));

        assertThat(registered("orders").getState()).isEqualTo(CircuitBreaker.State.CLOSED);
        assertThat(registered("orders").getCircuitBreakerConfig().getSlowCallDurationThreshold())
                .hasSeconds(50);
    }

    @ParameterizedTest
    @CsvSource({"true, FORCED_OPEN", "false, DISABLED"})
    void keepsAForcedStateWithChangedSettings(boolean open, CircuitBreaker.State state) {
        if (open) {
            gateway.backend("orders").health().operator().forceOpen();
        } else {
            gateway.backend("orders").health().operator().forceClosed();
        }

        reloaded(yaml(backend, SMALL, PATIENT.replace("threshold: 60s", "threshold: 50s")));

        assertThat(registered("orders").getState()).isEqualTo(state);
    }

    @ParameterizedTest
    @CsvSource({"open, FORCED_OPEN", "closed, DISABLED"})
    void keepsTheStateThatAnOperatorForcesDuringAReload(String word, CircuitBreaker.State state) {
        String next = yaml(backend, SMALL, PATIENT.replace("threshold: 60s", "threshold: 50s"));
        CompletableFuture<ConfigurationChange> reload =
                CompletableFuture.supplyAsync(() -> reload(next), Thread::startVirtualThread);
        CompletableFuture<Integer> forced =
                CompletableFuture.supplyAsync(() -> force(word), Thread::startVirtualThread);

        assertThat(reload.join().problems()).isEmpty();
        assertThat(forced.join()).isEqualTo(200);
        assertThat(gateway.backend("orders").health().state()).isEqualTo(state);
        assertThat(registered("orders").getState()).isEqualTo(state);
    }

    private int force(String word) {
        WebEndpointResponse<Object> response = gateway.bean(WeirEndpoint.class)
                .change("orders", word, null, null, null, null)
                .block();
        return response == null ? 0 : response.getStatus();
    }

    private CircuitBreaker registered(String name) {
        return gateway.bean(CircuitBreakerRegistry.class).find(name).orElseThrow();
    }

    // ---------------------------------------------------------------- requests in flight

    @Door.Any
    void admitsWaitingCallsAfterTheLimitGrows(Door door) throws Exception {
        backend.behave(calls);
        List<CompletableFuture<TestCaller.Answer>> answers = List.of(send(door), send(door), send(door), send(door));
        await().until(() ->
                calls.inside() == 2 && gateway.backend("orders").bulkhead().queued() == 2);

        reloaded(yaml(backend, SMALL.replace("calls: 2", "calls: 4"), PATIENT));

        await().until(() -> calls.inside() == 4);
        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }

    @Door.Any
    void countsPermitsInUseAfterTheLimitShrinks(Door door) throws Exception {
        backend.behave(calls);
        List<CompletableFuture<TestCaller.Answer>> answers = List.of(send(door), send(door), send(door));
        await().until(() ->
                calls.inside() == 2 && gateway.backend("orders").bulkhead().queued() == 1);

        reloaded(yaml(backend, SMALL.replace("calls: 2", "calls: 1"), PATIENT));

        assertThat(gateway.backend("orders").bulkhead().inUse()).isEqualTo(2);
        calls.next().answer();
        await().until(() -> gateway.backend("orders").bulkhead().inUse() == 1);
        assertThat(calls.calls()).isEqualTo(2);
        calls.next().answer();
        calls.next().answer();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        assertThat(calls.most()).isEqualTo(2);
    }

    /** The waiting call began with the old address; it goes to the new one. */
    @Door.Any
    void servesACallThatWaitedForAPermitDuringAnAddressChange(Door door) throws Exception {
        backend.behave(calls);
        List<CompletableFuture<TestCaller.Answer>> answers = List.of(send(door), send(door), send(door));
        await().until(() ->
                calls.inside() == 2 && gateway.backend("orders").bulkhead().queued() == 1);

        reloaded(yaml(other, SMALL, PATIENT));
        reloaded(yaml(other, SMALL.replace("capacity: 4", "capacity: 5"), PATIENT));

        calls.release();
        answers.forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
        assertThat(answers.stream().map(answer -> answer.join().text()))
                .containsExactlyInAnyOrder(door.path("orders", "1"), door.path("orders", "1"), "other");
        assertThat(get(door).text()).isEqualTo("other");
        await().until(() -> backend.connections() == 0);
    }

    @Door.Any
    void completesExchangesWithARemovedBackend(Door door) throws Exception {
        backend.behave(calls);
        List<CompletableFuture<TestCaller.Answer>> answers = List.of(send(door), send(door), send(door));
        await().until(() ->
                calls.inside() == 2 && gateway.backend("orders").bulkhead().queued() == 1);

        reloaded(yaml("parcels", other));

        assertThat(get(door).text()).isEqualTo("other");
        // The backend exists as long as an exchange uses it.
        assertThat(meters("orders")).isPositive();
        calls.release();
        answers.forEach(answer -> assertThat(answer.join().text()).isEqualTo(door.path("orders", "1")));
        awaitNoResources("orders");
        await().until(() -> backend.connections() == 0);
    }

    /** An unanswered handshake, which lasts until its time-out. */
    @Door.Any
    void endsAHandshakeWithARemovedBackendAtItsTimeout(Door door) {
        try (UnwillingPort silent = UnwillingPort.silent()) {
            reloaded(yaml(backend, PATIENT, "connection: { connect-timeout: 1s }")
                    .replace(backend.uri(), silent.uri()));
            CompletableFuture<TestCaller.Answer> answer = send(door);
            await().until(() -> gateway.backend("orders").bulkhead().inUse() == 1);

            reloaded(yaml("parcels", other));

            assertThat(answer.join().reason()).isEqualTo("connect-timeout");
            awaitNoResources("orders");
        }
    }

    @Door.Any
    void keepsTheOriginalDeadlineOfAnExchangeInFlight(Door door) throws Exception {
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> before = send(door);
        await().until(() -> calls.inside() == 1);

        reloaded(yaml(backend, "deadline: 200ms", "bulkhead: { max-wait-duration: 0s }"));

        assertThat(get(door).reason()).isEqualTo("deadline-exceeded");
        assertThat(before).isNotDone();
        calls.release();
        assertThat(before.join().text()).isEqualTo(door.path("orders", "1"));
    }

    @Door.Each
    void continuesAStreamFromARemovedBackend(Door door) throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        backend.behave((request, conversation) -> {
            conversation.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
            goOn.await();
            conversation.write("3\r\ntwo\r\n0\r\n\r\n");
        });
        try (TestCaller caller = TestCaller.to(gateway.port())) {
            caller.send(TestCaller.head("GET", door.path("orders", "1")));
            assertThat(caller.readHead().status()).isEqualTo(200);
            assertThat(caller.chunk()).isEqualTo("one");

            reloaded(yaml("parcels", other));

            assertThat(get(door).text()).isEqualTo("other");
            goOn.countDown();
            assertThat(caller.chunk()).isEqualTo("two");
            assertThat(caller.chunk()).isEmpty();
        }
        awaitNoResources("orders");
    }

    @Test
    void separatesAReaddedBackendFromTheDrainingOne() throws Exception {
        backend.behave(calls);
        CompletableFuture<TestCaller.Answer> answer = send(Door.COMPILED);
        await().until(() -> calls.inside() == 1);
        Backend before = gateway.backend("orders");
        reloaded(yaml("parcels", other));

        reloaded(yaml(other));
        calls.release();

        assertThat(answer.join().text()).isEqualTo(Door.COMPILED.path("orders", "1"));
        await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
        assertThat(registered("orders"))
                .isSameAs(gateway.backend("orders").health().resilience4j())
                .isNotSameAs(before.health().resilience4j());
        assertThat(gateway.bean(BulkheadRegistry.class).find("orders")).isPresent();
        assertThat(meters("orders")).isPositive();
        assertThat(get(Door.COMPILED).text()).isEqualTo("other");
    }

    private long meters(String backend) {
        return gateway.bean(MeterRegistry.class).getMeters().stream()
                .filter(meter -> backend.equals(meter.getId().getTag("backend"))
                        || backend.equals(meter.getId().getTag("name")))
                .count();
    }

    private void awaitNoResources(String backend) {
        await().untilAsserted(() -> {
            assertThat(meters(backend)).as("meters").isZero();
            assertThat(gateway.bean(CircuitBreakerRegistry.class).find(backend)).isEmpty();
            assertThat(gateway.bean(BulkheadRegistry.class).find(backend)).isEmpty();
            assertThat(gateway.bean(RetiredGenerations.class).openResources()).isZero();
            assertThat(gateway.bean(RetiredGenerations.class).generationsInUse())
                    .isZero();
        });
    }

    // ---------------------------------------------------------------- rejected changes

    @Test
    void reportsAllProblemsAndChangesNothing() {
        Backend before = gateway.backend("orders");

        ConfigurationChange change = reload(yaml(other, "deadline: 0ms", "bulkhead: { max-concurent-calls: 3 }")
                .replace("weir:\n", "weir:\n  cluster: { dns-server: \"127.0.0.1:99999\" }\n")
                .concat("\nlogging.levels.root: INFO\n"));

        assertThat(change.problems()).hasSize(4);
        assertThat(change.problems().getFirst()).contains("gateway.yml:2", "dns-server: 127.0.0.1:99999");
        assertThat(change.problems().get(1)).contains("gateway.yml:4", "did you mean max-concurrent-calls?");
        assertThat(change.problems().get(2)).contains("gateway.yml:4", "deadline: 0ms");
        assertThat(change.problems().getLast()).contains("logging.levels", "did you mean level?");
        assertThat(gateway.backend("orders")).isSameAs(before);
        assertThat(gateway.bean(LiveConfiguration.class).history().lastRejected())
                .isEqualTo(change);
        assertThat(gauge("weir.reload.refused")).isEqualTo(1);

        reloaded(yaml(backend, SMALL, PATIENT));
        assertThat(gateway.bean(LiveConfiguration.class).history().lastRejected())
                .isNull();
        assertThat(gauge("weir.reload.refused")).isZero();
    }

    private double gauge(String name) {
        return gateway.bean(MeterRegistry.class).get(name).gauge().value();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "  edge: { max-connections: 77 }",
                "  drain: { delay: 7s }",
                "  tracing: { enabled: true }",
                "server: { port: 7777 }",
                "calls: 7"
            })
    void appliesNothingOfAFileThatNeedsARestart(String line) {
        Backend before = gateway.backend("orders");

        ConfigurationChange change = reload(
                line.startsWith(" ")
                        ? yaml(other).replace("weir:\n", "weir:\n" + line + "\n")
                        : yaml(other)
                                + line.replace("server", "management.server.ssl")
                                        .replace("port: 7777", "enabled: false")
                                + "\n");

        assertThat(change.problems()).hasSize(1);
        assertThat(change.problems().getFirst()).contains("gateway.yml:", "a change needs a restart");
        assertThat(gateway.backend("orders")).isSameAs(before);
    }

    /**
     * Adds a backend and a route, and changes all reloadable properties of an existing backend; the creation
     * of one part fails.
     */
    @ParameterizedTest
    @ValueSource(strings = {"bulkhead", "backend", "route"})
    void changesNothingIfTheCreationOfAPartFails(String part) {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        reloaded(limited(1, yaml(backend, SMALL, PATIENT)));
        AtomicBoolean fails = failing(part);
        Routes before = gateway.bean(LiveRoutes.class).get();
        Backend orders = gateway.backend("orders");
        String next = limited(
                                5,
                                yaml(
                                        other,
                                        SMALL.replace("calls: 2", "calls: 7"),
                                        PATIENT.replace("threshold: 60s", "threshold: 50s")))
                        .replace("    orders: {", "    parcels: { uri: \"" + backend.uri() + "\" }\n    orders: {")
                + "  - { id: parcels, uri: \"backend://parcels\", predicates: [\"Path=/parcels/**\"] }\n";

        ConfigurationChange change = reload(next);

        assertThat(change.problems()).hasSize(1).first().asString().contains("cannot be applied: no " + part);
        assertThat(gateway.bean(LiveRoutes.class).get()).isSameAs(before);
        assertThat(orders.bulkhead().maxConcurrentCalls()).isEqualTo(2);
        assertThat(limitOfRoute()).isEqualTo(1);
        assertThat(registered("orders")).isSameAs(orders.health().resilience4j());
        assertThat(get(Door.COMPILED).text()).isEqualTo(Door.COMPILED.path("orders", "1"));
        awaitNoResources("parcels");

        fails.set(false);
        assertThat(reload().problems()).isEmpty();
        assertThat(orders.bulkhead().maxConcurrentCalls()).isEqualTo(7);
        assertThat(limitOfRoute()).isEqualTo(5);
        assertThat(registered("parcels"))
                .isSameAs(gateway.backend("parcels").health().resilience4j());
        assertThat(gateway.bean(BulkheadRegistry.class).find("parcels")).isPresent();
        assertThat(meters("parcels")).isPositive();
        assertThat(get(Door.COMPILED).text()).isEqualTo("other");
    }

    @Test
    void keepsTheMetersOfARouteAfterAFailedMoveToTheOtherDoor() {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        String before = limited(1, yaml(backend, SMALL, PATIENT));
        reloaded(before);
        assertThat(get(Door.COMPILED).status()).isEqualTo(200);
        await().until(() -> bytes() > 0);
        double soFar = bytes();
        failing("route");

        ConfigurationChange change = reload(limited(2, yaml(backend, SMALL, PATIENT))
                        .replace(
                                "[\"Path=/compiled/orders/**\"]",
                                "[\"Path=/compiled/orders/**\", \"After=2020-01-01T00:00:00Z\"]")
                + "  - { id: parcels, uri: \"backend://orders\", predicates: [\"Path=/parcels/**\"] }\n");

        assertThat(change.problems()).hasSize(1);
        assertThat(bytes()).isEqualTo(soFar);
        assertThat(get(Door.COMPILED).status()).isEqualTo(200);
        await().until(() -> bytes() > soFar);
        assertThat(ofRoute("weir.route.permits.limit").gauge().value()).isEqualTo(1);
    }

    private double bytes() {
        return ofRoute("weir.response.bytes").counter().count();
    }

    private RequiredSearch ofRoute(String meter) {
        return gateway.bean(MeterRegistry.class).get(meter).tag("route", "orders-compiled");
    }

    private int limitOfRoute() {
        return Objects.requireNonNull(gateway.route("orders-compiled").limit()).maxConcurrentCalls();
    }

    private static String limited(int calls, String yaml) {
        return yaml.replace(
                "spring.cloud", "  routes: { orders-compiled: { max-concurrent-calls: " + calls + " } }\nspring.cloud");
    }

    /**
     * Makes the creation of this part for {@code parcels} throw, as long as the flag is true.
     */
    private AtomicBoolean failing(String part) {
        AtomicBoolean fails = new AtomicBoolean(true);
        Consumer<@Nullable String> check = name -> {
            if ("parcels".equals(name) && fails.get()) {
                throw new IllegalStateException("no " + part);
            }
        };
        switch (part) {
            case "bulkhead" ->
                gateway.bean(BulkheadRegistry.class)
                        .getEventPublisher()
                        .onEntryReplaced(
                                event -> check.accept(event.getNewEntry().getName()));
            default ->
                gateway.bean(MeterRegistry.class).config().meterFilter(new MeterFilter() {

                    @Override
                    public Meter.Id map(Meter.Id id) {
                        // One of the last meters of the backend.
                        if (part.equals("route") || id.getName().equals("weir.pool.limit")) {
                            check.accept(id.getTag(part));
                        }
                        return id;
                    }
                });
        }
        return fails;
    }

    @Test
    void isAppliedEvenIfListenersThrow() {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        gateway.bean(CircuitBreakerRegistry.class).getEventPublisher().onEntryReplaced(event -> {
            throw new IllegalStateException("a breaker that is replaced");
        });
        AtomicBoolean told = new AtomicBoolean();
        gateway.bean(ApplicationEventMulticaster.class)
                .addApplicationListener(new ApplicationListener<RefreshRoutesEvent>() {

                    @Override
                    public void onApplicationEvent(RefreshRoutesEvent event) {
                        told.set(true);
                        throw new LinkageError("routes that are others");
                    }
                });

        ConfigurationChange change = reload(
                yaml(other, SMALL.replace("calls: 2", "calls: 7"), PATIENT.replace("threshold: 60s", "threshold: 50s"))
                        .replace("predicates:", "filters: [PreserveHostHeader], predicates:"));

        assertThat(told).isTrue();
        assertThat(change.problems()).isEmpty();
        assertThat(gateway.bean(LiveConfiguration.class).history().changes()).containsExactly(change);
        assertThat(gateway.backend("orders").bulkhead().maxConcurrentCalls()).isEqualTo(7);
        assertThat(registered("orders"))
                .isSameAs(gateway.backend("orders").health().resilience4j());
        for (Door door : Door.values()) {
            assertThat(get(door).text()).isEqualTo("other");
        }
        // The next reload is compared with the applied configuration.
        assertThat(reload().differences()).isEmpty();
    }

    @Test
    void keepsTheConfigurationWhileTheFileIsMissing() throws IOException {
        Files.delete(gateway.file());
        assertThat(reload().problems()).hasSize(1).first().asString().contains("no such file");
        assertThat(get(Door.COMPILED).status()).isEqualTo(200);

        reloaded(yaml(other, SMALL, PATIENT));
        assertThat(get(Door.COMPILED).text()).isEqualTo("other");
    }

    @Test
    void keepsTheConfigurationWhileTheFileIsUnreadable() throws IOException {
        Files.delete(gateway.file());
        Files.createDirectory(gateway.file());
        assertThat(reload().problems()).hasSize(1).first().asString().contains("not a file");
        assertThat(get(Door.GENERAL).status()).isEqualTo(200);
        Files.delete(gateway.file());

        // A writer has opened the file, but not written yet.
        Files.createFile(gateway.file());
        assertThat(reload().problems()).hasSize(1).first().asString().contains("empty");
        assertThat(get(Door.GENERAL).status()).isEqualTo(200);

        Files.write(gateway.file(), new byte[] {(byte) 0xc3, 0x28});
        assertThat(reload().problems()).hasSize(1).first().asString().contains("not UTF-8");
        assertThat(get(Door.GENERAL).status()).isEqualTo(200);
    }

    @Test
    void appliesConcurrentReloadsOneAfterTheOther() {
        List<CompletableFuture<ConfigurationChange>> changes = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String yaml = yaml(i % 2 == 0 ? other : backend, SMALL.replace("calls: 2", "calls: " + (i + 3)), PATIENT);
            changes.add(CompletableFuture.supplyAsync(() -> reload(yaml)));
        }
        changes.forEach(change -> assertThat(change.join().problems()).isEmpty());

        // The last written file is in force after the next reload.
        assertThat(reload().problems()).isEmpty();
        Backend now = gateway.backend("orders");
        boolean toOther = now.instances().first().uri().getPort() == other.port();
        assertThat(now.bulkhead().maxConcurrentCalls() % 2).isEqualTo(toOther ? 1 : 0);
        for (Door door : Door.values()) {
            assertThat(get(door).text()).isEqualTo(toOther ? "other" : door.path("orders", "1"));
        }
        await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
    }

    @Test
    void rejectsChangesWhileDraining() {
        startOwnGateway(yaml(backend, SMALL, PATIENT));
        Backend before = gateway.backend("orders");
        gateway.bean(Drain.class).enter(Drain.Phase.ANNOUNCED);

        ConfigurationChange change = reload(yaml(other));

        assertThat(change.problems()).hasSize(1).first().asString().contains("shutting down");
        assertThat(gateway.backend("orders")).isSameAs(before);
    }
}
