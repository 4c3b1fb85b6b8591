package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.MeterRegistry;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.GatewayTests;
import io.weir.testing.HeldCalls;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Priorities and tenants of calls that wait for one permit. 127.0.0.2 is a trusted proxy, 127.0.0.1 is not.
 */
class PriorityIT extends GatewayTests {

    private static final String PROXY = "127.0.0.2";
    private static final String STRANGER = "127.0.0.1";

    private final List<CompletableFuture<TestCaller.Answer>> answers = new ArrayList<>();

    @BeforeAll
    static void start() {
        backend = TestBackend.healthy();
        gateway = TestGateway.setup()
                .weir("edge: { trusted-proxies: [ 127.0.0.2 ], priority-header: X-Priority }")
                .backend(
                        "orders",
                        backend.uri(),
                        "deadline: 60s",
                        "fairness: { key: header:X-Tenant }",
                        "bulkhead: { max-concurrent-calls: 1, queue-capacity: 4, max-wait-duration: 60s }")
                .route("orders", "orders")
                .route("pay", "orders", "priority: critical")
                .route("report", "orders", "priority: sheddable")
                .route("kept", "orders", "guaranteed-share: 50")
                .withoutPauses()
                .start();
    }

    @Door.Any
    void servesTheHighestPriorityOfTheRoutesFirst(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        ask(STRANGER, door.path("report", "route-1"));
        ask(STRANGER, door.path("orders", "route-2"));
        ask(STRANGER, door.path("pay", "route-3"));

        assertServed(
                first, door.path("pay", "route-3"), door.path("orders", "route-2"), door.path("report", "route-1"));
        assertThat(priorityInLog(door.path("pay", "route-3"))).isEqualTo("critical");
        assertThat(priorityInLog(door.path("orders", "route-2"))).isEqualTo("normal");
    }

    @Door.Any
    void servesTheHighestPriorityOfATrustedProxyFirstAndPassesItOn(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        ask(PROXY, door.path("pay", "proxy-1"), "X-Priority: sheddable");
        ask(PROXY, door.path("orders", "proxy-2"), "x-priority: Critical");

        List<TestBackend.Request> served =
                assertServed(first, door.path("orders", "proxy-2"), door.path("pay", "proxy-1"));

        assertThat(served).extracting(request -> request.header("X-Priority")).containsExactly("critical", "sheddable");
        assertThat(priorityInLog(door.path("pay", "proxy-1"))).isEqualTo("sheddable");
    }

    @Door.Any
    void ignoresForgedFieldsOfACallerThatIsNoTrustedProxy(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        ask(STRANGER, door.path("orders", "forged-1"), "X-Tenant: a");
        ask(STRANGER, door.path("orders", "forged-2"), "X-Tenant: a");
        ask(STRANGER, door.path("orders", "forged-3"), "X-Priority: critical", "X-Tenant: b");

        List<TestBackend.Request> served = assertServed(
                first,
                door.path("orders", "forged-1"),
                door.path("orders", "forged-2"),
                door.path("orders", "forged-3"));

        assertThat(served).extracting(request -> request.header("X-Priority")).containsOnly("normal");
        assertThat(priorityInLog(door.path("orders", "forged-3"))).isEqualTo("normal");
        assertThat(Objects.requireNonNull(gateway.backend("orders").tenants())
                        .figures()
                        .largest())
                .extracting(Tenants.Usage::name)
                .doesNotContain("b");
    }

    @Door.Any
    void countsAnUnknownPriority(Door door) throws Exception {
        double before = ignored();
        HeldCalls.Held first = hold(door);
        ask(PROXY, door.path("pay", "unknown-1"), "X-Priority: urgent");

        List<TestBackend.Request> served = assertServed(first, door.path("pay", "unknown-1"));

        assertThat(served).extracting(request -> request.header("X-Priority")).containsExactly("critical");
        assertThat(ignored()).isEqualTo(before + 1);
    }

    @Door.Any
    void tenantsTakeTurnsAndAreShown(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        ask(PROXY, door.path("orders", "tenant-1"), "X-Tenant: big");
        ask(PROXY, door.path("orders", "tenant-2"), "X-Tenant: big");
        ask(PROXY, door.path("orders", "tenant-3"), "X-Tenant: small");

        assertServed(
                first,
                door.path("orders", "tenant-1"),
                door.path("orders", "tenant-3"),
                door.path("orders", "tenant-2"));

        JsonNode shown = TestCaller.get(gateway.managementPort(), "/actuator/weir/orders")
                .problem()
                .path("tenants");
        assertThat(shown.path("count").asInt()).isGreaterThanOrEqualTo(2);
        assertThat(shown.path("largest").toString()).contains("\"name\":\"big\"", "\"name\":\"small\"");
    }

    @Door.Any
    void aCriticalCallTakesThePlaceOfASheddableOne(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        for (int i = 1; i <= 4; i++) {
            ask(STRANGER, door.path("report", "evict-" + i));
        }
        ask(STRANGER, door.path("pay", "evict-5"));

        assertThat(answers.get(4).join().reason()).isEqualTo("queue-evicted");
        assertServed(
                first,
                door.path("pay", "evict-5"),
                door.path("report", "evict-1"),
                door.path("report", "evict-2"),
                door.path("report", "evict-3"));
        assertThat(gateway.bean(MeterRegistry.class)
                        .get("weir.shed")
                        .tags("backend", "orders", "reason", "queue-evicted", "priority", "sheddable")
                        .counter()
                        .count())
                .isPositive();
    }

    /** The share is one permit of one: a second call of the route waits like any other. */
    @Door.Any
    void aGuaranteedShareGoesFirstAndAtItsLimitNoMore(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        ask(STRANGER, door.path("pay", "share-1"));
        ask(STRANGER, door.path("kept", "share-2"));
        ask(STRANGER, door.path("kept", "share-3"));
        assertThat(share(door).calls()).isEqualTo(1);

        assertServed(first, door.path("kept", "share-2"), door.path("pay", "share-1"), door.path("kept", "share-3"));

        await().until(() -> share(door).calls() == 0);
    }

    @Door.Any
    void aGuaranteedShareHasAPlaceInAQueueThatOthersHaveFilled(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        for (int i = 1; i <= 4; i++) {
            ask(STRANGER, door.path("pay", "flood-" + i));
        }
        ask(STRANGER, door.path("kept", "flood-5"));

        assertThat(answers.get(4).join().reason()).isEqualTo("queue-evicted");
        assertServed(
                first,
                door.path("kept", "flood-5"),
                door.path("pay", "flood-1"),
                door.path("pay", "flood-2"),
                door.path("pay", "flood-3"));
        await().until(() -> share(door).calls() == 0);
    }

    @Door.Any
    void aCallerThatLeavesGivesItsPartOfTheShareBack(Door door) throws Exception {
        HeldCalls.Held first = hold(door);
        try (TestCaller leaver = TestCaller.to(gateway.port())) {
            leaver.send(TestCaller.head("GET", door.path("kept", "leaves")));
            await().until(() -> share(door).calls() == 1);
        }
        await().until(() -> share(door).calls() == 0);
        ask(STRANGER, door.path("pay", "after-1"));
        ask(STRANGER, door.path("kept", "after-2"));

        assertServed(first, door.path("kept", "after-2"), door.path("pay", "after-1"));
    }

    /** The calls under way count on under the new configuration. */
    @Test
    void aReloadKeepsTheCallsOfAShare() throws Exception {
        Door door = Door.COMPILED;
        answers.add(TestCaller.ask(gateway.port(), door.path("kept", "first")));
        HeldCalls.Held first = calls.next();
        String before = Files.readString(gateway.file());
        gateway.rewrite(before.replace("guaranteed-share: 50", "guaranteed-share: 40"));
        reload();
        assertThat(share(door).calls()).isEqualTo(1);
        ask(STRANGER, door.path("pay", "reloaded-1"));
        ask(STRANGER, door.path("kept", "reloaded-2"));

        assertServed(first, door.path("pay", "reloaded-1"), door.path("kept", "reloaded-2"));
        gateway.rewrite(before);
        reload();
    }

    private static GuaranteedShare share(Door door) {
        return Objects.requireNonNull(gateway.route(door.id("kept")).guaranteedShare());
    }

    @Test
    void usesAChangedPriorityForNewCallsAfterAReload() throws Exception {
        Door door = Door.COMPILED;
        HeldCalls.Held first = hold(door);
        ask(STRANGER, door.path("report", "reload-1"));
        String before = Files.readString(gateway.file());
        gateway.rewrite(before.replace("priority: sheddable", "priority: critical"));
        reload();
        ask(STRANGER, door.path("orders", "reload-2"));
        ask(STRANGER, door.path("report", "reload-3"));

        assertServed(
                first,
                door.path("report", "reload-3"),
                door.path("orders", "reload-2"),
                door.path("report", "reload-1"));
        gateway.rewrite(before);
        reload();
    }

    private static void reload() {
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
    }

    /** A call that holds the only permit. */
    private HeldCalls.Held hold(Door door) throws Exception {
        answers.add(TestCaller.ask(gateway.port(), door.path("orders", "first")));
        return calls.next();
    }

    /** Sends a call, and waits until it is in the queue or has pushed another one out of it. */
    private void ask(String from, String target, String... fields) {
        QueueingBulkhead bulkhead = gateway.backend("orders").bulkhead();
        int waiting = bulkhead.queued();
        CompletableFuture<TestCaller.Answer> answer = new CompletableFuture<>();
        answers.add(answer);
        Thread.ofVirtual().start(() -> {
            try (TestCaller caller = TestCaller.from(from, gateway.port())) {
                answer.complete(caller.request("GET", target, fields));
            } catch (IOException | RuntimeException e) {
                answer.completeExceptionally(e);
            }
        });
        await().until(() -> waiting == bulkhead.queueCapacity()
                ? answers.stream().anyMatch(CompletableFuture::isDone)
                : bulkhead.queued() == waiting + 1);
    }

    /** Answers the calls one after the other; they reach the backend in this order. */
    private List<TestBackend.Request> assertServed(HeldCalls.Held first, String... targets) throws Exception {
        List<TestBackend.Request> served = new ArrayList<>();
        HeldCalls.Held held = first;
        for (int i = 0; i < targets.length; i++) {
            held.answer();
            held = calls.next();
            served.add(held.request());
        }
        held.answer();
        assertThat(served).extracting(TestBackend.Request::target).containsExactly(targets);
        for (CompletableFuture<TestCaller.Answer> answer : answers) {
            assertThat(answer.join().status()).isIn(200, 503);
        }
        return served;
    }

    private static String priorityInLog(String path) {
        await().until(() -> !gateway.lines(path).isEmpty());
        return gateway.lines(path).getLast().path("priority").asString();
    }

    private static double ignored() {
        return gateway.bean(MeterRegistry.class)
                .get("weir.priority.ignored")
                .counter()
                .count();
    }
}
