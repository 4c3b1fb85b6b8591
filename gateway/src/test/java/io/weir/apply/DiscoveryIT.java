package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.weir.testing.Door;
import io.weir.testing.SteadyCallers;
import io.weir.testing.TestBackend;
import io.weir.testing.TestCaller;
import io.weir.testing.TestGateway;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.cloud.client.DefaultServiceInstance;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.ReactiveDiscoveryClient;
import org.springframework.cloud.client.discovery.event.HeartbeatEvent;
import reactor.core.publisher.Flux;

/** Backends whose instances come from Spring Cloud's discovery, and routes to {@code lb://}. */
class DiscoveryIT {

    private final List<TestBackend> servers =
            Stream.generate(TestBackend::healthy).limit(3).toList();

    @AfterEach
    void close() {
        servers.forEach(TestBackend::close);
    }

    /** A client that the test brings, as an extension would. */
    private static final class Registry implements ReactiveDiscoveryClient {

        private final List<TestBackend> members = new CopyOnWriteArrayList<>();
        private final AtomicInteger asked = new AtomicInteger();
        private volatile boolean isDown;

        @Override
        public String description() {
            return "a registry of the test";
        }

        @Override
        public Flux<ServiceInstance> getInstances(String service) {
            asked.incrementAndGet();
            if (isDown) {
                return Flux.error(new IllegalStateException("the registry is down"));
            }
            return service.equals("ORDERS_SERVICE")
                    ? Flux.fromIterable(members)
                            .map(server -> new DefaultServiceInstance(
                                    "id-" + server.port(), service, "127.0.0.1", server.port(), false))
                    : Flux.empty();
        }

        @Override
        public Flux<String> getServices() {
            return Flux.just("ORDERS_SERVICE");
        }
    }

    private static int instances(TestGateway gateway) {
        return gateway.backend("orders").instances().all().size();
    }

    @Test
    void servesTheInstancesOfTheSimpleClientBehindALoadBalancedRoute() throws IOException {
        StringBuilder yaml = new StringBuilder("""
                weir:
                  backends:
                    orders: { discovery: orders-service, bulkhead: { max-concurrent-calls: 64 } }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: compiled, uri: "lb://orders", predicates: ["Path=/compiled/**"] }
                  - { id: general, uri: "lb://orders", predicates: ["Path=/general/**", "After=2020-01-01T00:00:00Z"] }
                spring.cloud.discovery.client.simple.instances:
                  orders-service:
                """);
        servers.forEach(
                server -> yaml.append("    - uri: ").append(server.uri()).append('\n'));
        try (TestGateway gateway = TestGateway.start(yaml.toString())) {
            assertThat(instances(gateway)).isEqualTo(3);
            for (String door : List.of("compiled", "general")) {
                for (int i = 0; i < 30; i++) {
                    assertThat(TestCaller.get(gateway.port(), '/' + door + '/' + i)
                                    .status())
                            .isEqualTo(200);
                }
                assertThat(gateway.route(door).backend().name()).isEqualTo("orders");
            }
            assertThat(servers)
                    .allSatisfy(server -> assertThat(server.requests()).isPositive());
            gateway.assertNothingHeld();
        }
    }

    @Test
    void followsAClientOfAnExtension() throws IOException {
        Registry registry = new Registry();
        try (TestGateway gateway = TestGateway.setup()
                .bean(ReactiveDiscoveryClient.class, registry)
                .addressed("orders", "discovery: ORDERS_SERVICE", "resolve-interval: 100ms")
                .route("orders", "orders")
                .start()) {
            assertThat(TestCaller.get(gateway.port(), Door.COMPILED.path("orders", "none"))
                            .reason())
                    .isEqualTo("connect-failed");
            registry.members.add(servers.get(0));
            await().until(() ->
                    gateway.backend("orders").instances().first().address().isKnown());
            SteadyCallers callers = new SteadyCallers(4, gateway.port(), "orders", "POST");
            callers.awaitMore(30);
            registry.members.add(servers.get(1));
            await().until(() -> instances(gateway) == 2);
            callers.awaitMore(30);
            registry.members.remove(0);
            registry.members.add(servers.get(2));
            await().until(() -> gateway.backend("orders").instances().all().stream()
                    .noneMatch(instance ->
                            instance.uri().getPort() == servers.getFirst().port()));
            callers.awaitMore(30);

            registry.isDown = true;
            int asked = registry.asked.get();
            await().until(() -> registry.asked.get() >= asked + 3);
            registry.isDown = false;
            registry.members.clear();
            int askedAgain = registry.asked.get();
            await().until(() -> registry.asked.get() >= askedAgain + 3);
            assertThat(instances(gateway)).as("the last known stay").isEqualTo(2);
            callers.awaitMore(30);
            assertThat(callers.stop()).isEmpty();
            gateway.assertNothingHeld();
            await().until(() -> gateway.bean(RetiredGenerations.class).openResources() == 0);
        }
    }

    @Test
    void asksAgainAfterAHeartbeat() {
        Registry registry = new Registry();
        registry.members.add(servers.get(0));
        try (TestGateway gateway = TestGateway.setup()
                .bean(ReactiveDiscoveryClient.class, registry)
                .addressed("orders", "discovery: ORDERS_SERVICE", "resolve-interval: 1h")
                .route("orders", "orders")
                .start()) {
            assertThat(instances(gateway)).isOne();
            registry.members.add(servers.get(1));
            gateway.publish(new HeartbeatEvent(registry, 1));
            await().until(() -> instances(gateway) == 2);
        }
    }
}
