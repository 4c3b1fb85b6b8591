package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.dashboard.LiveFeed;
import io.weir.engine.Backend;
import io.weir.metrics.MeterBook;
import io.weir.testing.ObservedGateway;
import io.weir.testing.OwnLoops;
import io.weir.testing.VirtualTimer;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.json.JsonMapper;

/** The endpoint and its guard on a port of Spring Boot's, beside Resilience4j's endpoints. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ManagementPortIT {

    private static final String TOKEN = "0123456789abcdef";

    @SpringBootConfiguration
    @EnableAutoConfiguration
    static class Application {

        @Bean
        ObservedGateway fixture() {
            return new ObservedGateway();
        }

        @Bean
        OtherMembersAdvisor limitsAdvisor() {
            return OtherMembersAdvisor.limits();
        }

        @Bean
        Map<String, String> changed() {
            return new ConcurrentHashMap<>();
        }

        @Bean
        OperatorChanges operatorChanges(Map<String, String> changed) {
            return new OperatorChanges() {

                @Override
                public Answer change(
                        String backend, Map<String, String> limits, String by, @Nullable Duration lasting) {
                    limits.forEach((limit, value) -> changed.put(backend + '.' + limit, value));
                    return new Answer(List.of(), List.of());
                }

                @Override
                public Answer release(String backend, String by) {
                    changed.clear();
                    return new Answer(List.of(), List.of());
                }

                @Override
                public void withoutReload(Runnable action) {
                    action.run();
                }
            };
        }

        @Bean
        Backend orders(ObservedGateway fixture) {
            return fixture.backend(fixture.backendMeters(new MeterBook(new SimpleMeterRegistry())));
        }

        @Bean
        OperatorSwitches operatorSwitches(Backend orders, OperatorChanges changes, RecentEvents recentEvents) {
            VirtualTimer timer = new VirtualTimer();
            return new OperatorSwitches(
                    () -> Map.of("orders", orders),
                    changes,
                    new OperatorChangeStore(timer, timer::nanos, timer::instant),
                    recentEvents);
        }

        @Bean
        Gateway gateway(Backend orders, OperatorSwitches switches) {
            return new WeirEndpointTest.OneBackend(orders, switches);
        }

        @Bean
        RecentEvents recentEvents() {
            return new RecentEvents(InstantSource.system());
        }

        @Bean(destroyMethod = "close")
        LiveFeed liveFeed(Gateway gateway, ObservedGateway fixture, RecentEvents recentEvents) {
            return new LiveFeed(
                    gateway,
                    fixture.engine,
                    fixture.guard,
                    fixture.drain,
                    recentEvents,
                    Optional::empty,
                    () -> 1,
                    InstantSource.system());
        }

        @Bean
        WeirEndpoint weirEndpoint(
                Gateway gateway, ObservedGateway fixture, OperatorChanges changes, OperatorSwitches switches) {
            return new WeirEndpoint(gateway, fixture.engine, fixture.guard, fixture.drain, changes, switches, "jdk");
        }
    }

    private final HttpClient client = HttpClient.newHttpClient();

    private @Nullable ConfigurableApplicationContext context;

    @BeforeAll
    void start() {
        context = new SpringApplicationBuilder(Application.class)
                .initializers(new OwnLoops())
                .run(
                        "--server.port=0",
                        "--server.address=127.0.0.1",
                        "--management.server.port=0",
                        "--management.server.address=127.0.0.1",
                        "--management.endpoints.access.default=read-only",
                        "--management.endpoint.weir.access=unrestricted",
                        "--management.endpoints.web.exposure.include=health,weir,circuitbreakers",
                        "--management.endpoint.health.probes.enabled=true",
                        "--resilience4j.circuitbreaker.instances.orders.sliding-window-size=10",
                        "--weir.management.token=" + TOKEN);
    }

    @AfterAll
    void stop() {
        if (context != null) {
            context.close();
        }
    }

    @Test
    void requiresTheTokenOnTheManagementPort() throws Exception {
        HttpResponse<String> without = send(management("/actuator/weir"));

        assertThat(without.statusCode()).isEqualTo(401);
        assertThat(without.headers().firstValue("WWW-Authenticate")).hasValue("Bearer realm=\"weir management\"");
        assertThat(without.body()).isEmpty();
        assertThat(send(withToken(management("/actuator/weir"))).statusCode()).isEqualTo(200);
    }

    @Test
    void requiresNoTokenForHealthProbes() throws Exception {
        assertThat(send(management("/actuator/health")).statusCode()).isEqualTo(200);
        assertThat(send(management("/actuator/health/readiness")).statusCode()).isEqualTo(200);
        assertThat(send(management("/actuator/health/liveness")).statusCode()).isEqualTo(200);
    }

    @Test
    void doesNotGuardTheGatewaysOwnPort() throws Exception {
        HttpRequest.Builder toTheGateway =
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port("local.server.port") + "/actuator/weir"));

        // No guard, and no endpoint either.
        assertThat(send(toTheGateway).statusCode()).isEqualTo(404);
    }

    @Test
    void showsTheGatewayAndOneBackend() throws Exception {
        HttpResponse<String> all = send(withToken(management("/actuator/weir")));
        HttpResponse<String> one = send(withToken(management("/actuator/weir/orders")));

        assertThat(JsonMapper.shared().readTree(all.body()).propertyNames())
                .containsExactly("gateway", "backends", "routes", "faults", "configuration", "tlsEngine");
        assertThat(JsonMapper.shared().readTree(one.body()).get("uri").stringValue())
                .isEqualTo("http://orders:8080");
        assertThat(send(withToken(management("/actuator/weir/payments"))).statusCode())
                .isEqualTo(404);
    }

    @Test
    void forcesABreakerForATime() throws Exception {
        HttpResponse<String> forced = post("/actuator/weir/orders", "{\"breaker\":\"open\",\"duration\":\"10m\"}");

        assertThat(forced.statusCode()).isEqualTo(200);
        assertThat(JsonMapper.shared()
                        .readTree(forced.body())
                        .at("/breaker/state")
                        .stringValue())
                .isEqualTo("forced-open");
        assertThat(JsonMapper.shared()
                        .readTree(forced.body())
                        .at("/changes/0/until")
                        .stringValue())
                .isEqualTo("1970-01-01T00:10:00Z");
        assertThat(post("/actuator/weir/orders", "{\"breaker\":\"open\",\"duration\":10}")
                        .body())
                .contains("duration: 10 (expected: a duration with a unit, such as 30s)");
        post("/actuator/weir/orders", "{\"breaker\":\"released\"}");
    }

    @Test
    @SuppressWarnings("unchecked")
    void changesLimitsByTheirNamesInYaml() throws Exception {
        HttpResponse<String> changed =
                post("/actuator/weir/orders", "{\"max-concurrent-calls\":20,\"bulkhead.enforce\":false}");

        assertThat(changed.statusCode()).isEqualTo(200);
        assertThat((Map<String, String>) running().getBean("changed"))
                .containsOnly(
                        Map.entry("orders.max-concurrent-calls", "20"), Map.entry("orders.bulkhead.enforce", "false"));

        assertThat(post("/actuator/weir/orders", "{\"limits\":\"released\"}").statusCode())
                .isEqualTo(200);
        assertThat((Map<String, String>) running().getBean("changed")).isEmpty();
    }

    @Test
    void namesTheExpectedWordsForAnUnknownOne() throws Exception {
        HttpResponse<String> unknown = post("/actuator/weir/orders", "{\"breaker\":\"shut\"}");
        HttpResponse<String> missing = post("/actuator/weir/orders", "{}");

        assertThat(unknown.statusCode()).isEqualTo(400);
        assertThat(unknown.body()).contains("breaker: shut (expected: open, closed or released)");
        assertThat(missing.statusCode()).isEqualTo(400);
        assertThat(missing.body()).contains("breaker: missing (expected: open, closed or released)");
        assertThat(post("/actuator/weir/payments", "{\"breaker\":\"open\"}").statusCode())
                .isEqualTo(404);
    }

    @Test
    void permitsReadsAndNoWritesOfResilience4jsEndpoints() throws Exception {
        assertThat(send(withToken(management("/actuator/circuitbreakers"))).statusCode())
                .isEqualTo(200);
        assertThat(post("/actuator/circuitbreakers/orders", "{\"updateState\":\"FORCE_OPEN\"}")
                        .statusCode())
                .isEqualTo(404);
        assertThat(send(withToken(management("/actuator/circuitbreakers"))).body())
                .contains("\"state\":\"CLOSED\"");
    }

    private HttpRequest.Builder management(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port("local.management.port") + path));
    }

    private static HttpRequest.Builder withToken(HttpRequest.Builder request) {
        return request.header("Authorization", "Bearer " + TOKEN);
    }

    private HttpResponse<String> post(String path, String body) throws Exception {
        return send(withToken(management(path))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    private String port(String property) {
        return running().getEnvironment().getRequiredProperty(property);
    }

    private ConfigurableApplicationContext running() {
        ConfigurableApplicationContext running = context;
        if (running == null) {
            throw new IllegalStateException("not started");
        }
        return running;
    }
}
