package io.weir.instance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.Backend;
import io.weir.management.RecentEvents;
import io.weir.reload.ConfigurationChange.Trigger;
import io.weir.reload.LiveConfiguration;
import io.weir.testing.Door;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * A backend with three instances over sockets: one that fails is ejected and returns; callers lose nothing.
 */
class InstancesIT {

    private static final int CALLS = 60;

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();
    private TestGateway gateway;

    @BeforeEach
    void start() {
        gateway = TestGateway.setup()
                .instances(
                        "orders",
                        servers.stream().map(TestBackend::uri).toList(),
                        "deadline: 60s",
                        "circuit-breaker: { stall-duration: 200ms }",
                        "retry-budget: { share: 100, floor: 100 }")
                .route("orders", "orders")
                .start();
    }

    @AfterEach
    void close() {
        gateway.assertNothingHeld();
        gateway.close();
        servers.forEach(TestBackend::close);
    }

    private Backend backend() {
        return gateway.backend("orders");
    }

    private Instance instance(int index) {
        return backend().instances().all().get(index);
    }

    /** Sends calls, one after the other, and returns the number of answers with 200. */
    private int answered(Door door, int calls) throws IOException {
        int good = 0;
        for (int i = 0; i < calls; i++) {
            if (TestCaller.get(gateway.port(), door.path("orders", "call-" + i)).status() == 200) {
                good++;
            }
        }
        return good;
    }

    /** Sends calls until the instance has opened, at most so many. */
    private void callUntilOpen(Door door, int index) throws IOException {
        for (int i = 0; i < 2000 && instance(index).health().isIn(); i++) {
            TestCaller.get(gateway.port(), door.path("orders", "until-open"));
        }
        assertThat(instance(index).health().state()).isEqualTo(State.OPEN);
    }

    private void assertReturns(Door door, int index) {
        await().atMost(TestGateway.PATIENCE).until(() -> {
            answered(door, 1);
            return instance(index).health().state() == State.CLOSED;
        });
        int before = servers.get(index).requests();
        await().atMost(TestGateway.PATIENCE).until(() -> {
            answered(door, 1);
            return servers.get(index).requests() > before;
        });
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
    }

    @Door.Any
    void sharesTheCallsAndShowsTheInstance(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        assertThat(servers).allSatisfy(server -> assertThat(server.requests()).isPositive());
        List<String> authorities =
                servers.stream().map(server -> "127.0.0.1:" + server.port()).toList();
        assertThat(authorities)
                .contains(gateway.logged(door.path("orders", "call-7"))
                        .get("instance")
                        .asString());
    }

    @Door.Any
    void ejectsTheInstanceThatAnswersFailuresAndTakesItBack(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.getFirst().behave((request, conversation) -> conversation.answer(500, "broken"));
        callUntilOpen(door, 0);
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
        assertThat(sample("weir_instance_ejections_total", instance(0).authority()))
                .isEqualTo("1.0");
        assertThat(gateway.bean(RecentEvents.class).last().getFirst().text())
                .startsWith("Instance " + servers.getFirst().uri() + " was ejected: failing");
        assertThat(answered(door, CALLS)).as("while it is out").isEqualTo(CALLS);
        servers.getFirst().behave(TestBackend.ECHO);
        assertReturns(door, 0);
    }

    @Door.Any
    void movesUnsentCallsFromAnInstanceThatRefusesConnections(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.getFirst().close();
        assertThat(answered(door, CALLS)).as("unsent calls go elsewhere").isEqualTo(CALLS);
        assertThat(backend().health().state()).isEqualTo(State.CLOSED);
    }

    @Test
    void drainsAnInstanceByHandKeepsItSoThroughAReloadAndReturnsIt() throws IOException {
        CountDownLatch answers = new CountDownLatch(1);
        servers.forEach(server -> server.behave((request, conversation) -> {
            if (request.target().endsWith("held")) {
                awaitUninterruptibly(answers);
            }
            conversation.answer(200, "ok");
        }));
        CompletableFuture<TestCaller.Answer> held =
                TestCaller.ask(gateway.port(), Door.COMPILED.path("orders", "held"));
        await().until(() -> servers.stream().anyMatch(server -> server.requests() == 1));
        int index = indexOfTheBusyInstance();
        String authority = instance(index).authority();
        int before = servers.get(index).requests();

        assertThat(change(authority, "drain").status()).isEqualTo(200);

        assertThat(answered(Door.COMPILED, CALLS)).isEqualTo(CALLS);
        assertThat(answered(Door.GENERAL, CALLS)).isEqualTo(CALLS);
        assertThat(servers.get(index).requests()).as("new calls").isEqualTo(before);
        assertThat(sample("weir_instance_state", authority, "state=\"drained\""))
                .isEqualTo("1.0");
        assertThat(sample("weir_instance_inflight", authority)).isEqualTo("1.0");
        assertThat(backend().bulkhead().maxConcurrentCalls()).as("limit").isEqualTo(43);
        assertThat(held).as("the call under way").isNotDone();
        answers.countDown();
        assertThat(held.join().status()).isEqualTo(200);

        String left = servers.get((index + 1) % 3).uri();
        gateway.rewrite(Files.readString(gateway.file())
                .replace("deadline: 60s", "deadline: 50s")
                .replaceFirst("(, )?\\{ uri: \"" + left + "\" }", "")
                .replace("[, ", "["));
        assertThat(gateway.bean(LiveConfiguration.class)
                        .reload(Trigger.REQUEST, "a test")
                        .problems())
                .isEmpty();
        assertThat(backend().instances().all()).hasSize(2);
        assertThat(scrape()).doesNotContain(left.replace("http://", "\""));
        assertThat(sample("weir_instance_state", authority, "state=\"drained\""))
                .isEqualTo("1.0");
        assertThat(answered(Door.COMPILED, CALLS)).isEqualTo(CALLS);
        assertThat(servers.get(index).requests()).as("after the reload").isEqualTo(before);

        String last = servers.get((index + 2) % 3).uri();
        TestCaller.Answer refused = change(last, "drain");
        assertThat(refused.status()).isEqualTo(409);
        assertThat(refused.text()).contains("is the last one that takes calls");
        assertThat(change(authority, "return").status()).isEqualTo(200);
        await().atMost(TestGateway.PATIENCE).until(() -> {
            answered(Door.COMPILED, 1);
            return servers.get(index).requests() > before;
        });
        assertThat(gateway.bean(RecentEvents.class).last())
                .extracting(RecentEvents.Event::kind)
                .contains(RecentEvents.Kind.INSTANCE_DRAINED, RecentEvents.Kind.INSTANCE_RETURNED);
        assertThat(scrape())
                .as("the neighbour has one instance")
                .doesNotContainPattern("weir_instance_[a-z]+\\{backend=\"neighbour\"");
    }

    private int indexOfTheBusyInstance() {
        return IntStream.range(0, servers.size())
                .filter(i -> servers.get(i).requests() == 1)
                .findFirst()
                .orElseThrow();
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            assertThat(latch.await(TestGateway.PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private TestCaller.Answer change(String address, String action) throws IOException {
        String body = "{\"instance\":\"" + address + "\",\"action\":\"" + action + "\"}";
        try (TestCaller caller = TestCaller.to(gateway.managementPort())) {
            caller.send(TestCaller.head(
                            "POST",
                            "/actuator/weir/orders",
                            "Content-Type: application/json",
                            "Content-Length: " + body.length())
                    + body);
            return caller.answer();
        }
    }

    private String scrape() throws IOException {
        return TestCaller.get(gateway.managementPort(), "/actuator/prometheus").text();
    }

    /** The value of the only sample of an instance with these labels. */
    private String sample(String name, String authority, String... labels) throws IOException {
        List<String> lines = scrape().lines()
                .filter(line -> line.startsWith(name + "{")
                        && line.contains("instance=\"" + authority + "\"")
                        && Stream.of(labels).allMatch(line::contains))
                .toList();
        assertThat(lines).as(name).hasSize(1);
        return lines.getFirst().substring(lines.getFirst().lastIndexOf(' ') + 1);
    }

    @Door.Any
    void opensTheBackendWhereAllInstancesFail(Door door) throws IOException {
        assertThat(answered(door, CALLS)).isEqualTo(CALLS);
        servers.forEach(server -> server.behave((request, conversation) -> conversation.answer(500, "broken")));
        for (int i = 0; i < 400 && backend().health().state() != State.OPEN; i++) {
            TestCaller.get(gateway.port(), door.path("orders", "failing"));
        }
        assertThat(backend().health().state()).isEqualTo(State.OPEN);
        assertThat(TestCaller.get(gateway.port(), door.path("orders", "refused"))
                        .status())
                .isEqualTo(503);
        servers.forEach(server -> server.behave(TestBackend.ECHO));
        for (int i = 0; i < servers.size(); i++) {
            assertReturns(door, i);
        }
    }
}
