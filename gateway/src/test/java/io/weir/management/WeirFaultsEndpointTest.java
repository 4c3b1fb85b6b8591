package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.door.RouteView;
import io.weir.engine.Backend;
import io.weir.faults.FaultInjectionProperties;
import io.weir.faults.InjectedFaults;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.testing.ObservedGateway;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class WeirFaultsEndpointTest {

    private final ObservedGateway fixture = new ObservedGateway();
    private final BackendMeters meters = fixture.backendMeters(new MeterBook(new SimpleMeterRegistry()));
    private final RecentEvents recentEvents = new RecentEvents(() -> Instant.EPOCH);
    private final List<Runnable> timers = new ArrayList<>();
    private final InjectedFaults faults = faults(true);
    private final Backend orders = fixture.backend(meters, fixture.instances(List.of("10.0.0.1:80", "10.0.0.2:80")));
    private final Gateway gateway = new Gateway() {
        @Override
        public Map<String, Backend> backends() {
            return Map.of("orders", orders);
        }

        @Override
        public Collection<RouteView> routes() {
            return List.of(
                    new RouteView("orders-route", "orders", "compiled", null, null, null, List.of()),
                    new RouteView("plain-route", null, "general", "uri: not backend://", null, null, List.of()));
        }

        @Override
        public List<FaultView> faults() {
            return faults.active().stream()
                    .map(fault -> FaultView.of(fault, routes()))
                    .toList();
        }
    };
    private final WeirFaultsEndpoint endpoint = new WeirFaultsEndpoint(faults, gateway);

    private InjectedFaults faults(boolean enabled) {
        return new InjectedFaults(
                new FaultInjectionProperties(enabled, Duration.ofMinutes(10)),
                fixture.engine::inject,
                new FaultReporter(recentEvents),
                (task, delayNanos) -> {
                    timers.add(task);
                    return () -> {};
                },
                fixture.clock::get,
                () -> Instant.EPOCH,
                () -> 0);
    }

    @AfterEach
    void close() {
        meters.close();
        fixture.close();
    }

    private static JsonNode json(@Nullable Object body) {
        return JsonMapper.shared().readTree(JsonMapper.shared().writeValueAsString(body));
    }

    private static WebEndpointResponse<Object> by(Mono<WebEndpointResponse<Object>> change) {
        return Objects.requireNonNull(change.contextWrite(context -> context.put(ManagementGuard.CALLER, "alice"))
                .block());
    }

    /** Sends the members of a body as Spring Boot does. */
    private WebEndpointResponse<Object> post(String body) {
        return post(endpoint, body);
    }

    private static WebEndpointResponse<Object> post(WeirFaultsEndpoint to, String body) {
        JsonNode members = JsonMapper.shared().readTree(body.replace('\'', '"'));
        @SuppressWarnings("unchecked")
        Map<String, Object> map = JsonMapper.shared().treeToValue(members, Map.class);
        @SuppressWarnings("unchecked")
        Map<String, Object> unknown =
                (Map<String, Object>) OtherMembersAdvisor.unknown().collect(map).get("unknown");
        return by(to.start(
                text(members, "route"),
                text(members, "backend"),
                text(members, "instance"),
                Objects.requireNonNull(text(members, "fault")),
                members.has("percent") ? members.get("percent").asDouble() : null,
                text(members, "header"),
                text(members, "value"),
                text(members, "latency"),
                members.has("status") ? members.get("status").asInt() : null,
                members.has("afterBytes") ? members.get("afterBytes").asLong() : null,
                Objects.requireNonNull(text(members, "duration")),
                unknown));
    }

    private static @Nullable String text(JsonNode members, String name) {
        return members.has(name) ? members.get(name).asString() : null;
    }

    private static void assertRefused(WebEndpointResponse<Object> answer, int status, String detail) {
        assertThat(answer.getStatus()).isEqualTo(status);
        assertThat(json(answer.getBody()).path("status").asInt()).isEqualTo(status);
        assertThat(json(answer.getBody()).path("detail").asString()).isEqualTo(detail);
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void startsAndEndsAFault(CapturedOutput output) {
        WebEndpointResponse<Object> started =
                post("{'backend':'orders','instance':'10.0.0.2:80','fault':'abort','status':503,'percent':12.5,"
                        + "'header':'x-chaos','duration':'30s'}");

        assertThat(started.getStatus()).isEqualTo(200);
        assertThat(json(started.getBody())).isEqualTo(JsonMapper.shared().readTree("""
                                {"id": 1, "fault": "abort", "backend": "orders", "instance": "http://10.0.0.2:80",
                                 "text": "abort with 503 of 12.5 % of the calls of instance http://10.0.0.2:80 of backend orders with x-chaos",
                                 "percent": 12.5, "header": "x-chaos", "status": 503, "calls": 0,
                                 "startedAt": "1970-01-01T00:00:00Z", "endsAt": "1970-01-01T00:00:30Z", "by": "alice"}
                                """));
        assertThat(json(endpoint.all()).at("/enabled").asBoolean()).isTrue();
        assertThat(json(endpoint.all()).at("/maxDurationMs").asLong()).isEqualTo(600_000);
        assertThat(json(endpoint.all()).at("/faults/0/id").asInt()).isOne();
        assertThat(fixture.engine.faults()).isNotNull();

        assertThat(by(endpoint.end(1)).getStatus()).isEqualTo(200);
        assertThat(json(endpoint.all()).at("/faults")).isEmpty();
        assertThat(fixture.engine.faults()).isNull();
        assertRefused(by(endpoint.end(1)), 404, "fault: 1 (expected: one of GET /actuator/weirfaults)");

        String text = "abort with 503 of 12.5 % of the calls of instance http://10.0.0.2:80 of backend orders"
                + " with x-chaos";
        assertThat(recentEvents.last())
                .extracting(
                        event -> event.kind().word(),
                        RecentEvents.Event::backend,
                        RecentEvents.Event::text,
                        RecentEvents.Event::by)
                .containsExactly(
                        tuple("fault-ended", "orders", "Fault ended: " + text, "alice"),
                        tuple("fault-started", "orders", "Fault started: " + text, "alice"));
        assertThat(output.getAll())
                .contains("Fault 1 injected by alice: " + text + ", until 1970-01-01T00:00:30Z")
                .contains("Fault 1 ended by alice: " + text + ", injected into 0 calls");
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void reportsAFaultThatHeals(CapturedOutput output) {
        post("{'route':'orders-route','fault':'hang','duration':'30s'}");
        timers.getFirst().run();

        assertThat(json(endpoint.all()).at("/faults")).isEmpty();
        assertThat(output.getAll())
                .contains("Fault 1 ended after its time: hang of 100 % of the calls of route orders-route");
        assertThat(recentEvents.last().getFirst().by()).isNull();
    }

    @Test
    void showsTheBackendOfARoute() {
        JsonNode shown = json(
                post("{'route':'orders-route','fault':'hang','duration':'30s'}").getBody());

        assertThat(shown.path("route").asString()).isEqualTo("orders-route");
        assertThat(shown.path("backend").asString()).isEqualTo("orders");
    }

    @Test
    void endsAllFaults() {
        post("{'route':'orders-route','fault':'hang','duration':'30s'}");
        post("{'backend':'orders','fault':'latency','latency':'300ms','duration':'30s'}");

        JsonNode ended = json(by(endpoint.endAll()).getBody());

        assertThat(ended.at("/faults")).hasSize(2);
        assertThat(json(endpoint.all()).at("/faults")).isEmpty();
    }

    @Test
    void startsNothingUnlessEnabled() {
        WeirFaultsEndpoint disabled = new WeirFaultsEndpoint(faults(false), gateway);

        assertRefused(
                post(disabled, "{'backend':'orders','fault':'hang','duration':'30s'}"),
                403,
                "weir.faults.enabled: false (expected: true; needs a restart)");
        assertThat(json(disabled.all()).at("/enabled").asBoolean()).isFalse();
        assertThat(by(disabled.endAll()).getStatus()).isEqualTo(200);
        assertThat(recentEvents.last()).isEmpty();
    }

    @Test
    void knowsTheConfiguredNamesOnly() {
        assertRefused(
                post("{'backend':'search','fault':'hang','duration':'30s'}"),
                404,
                "backend: search (expected: a configured one)");
        assertRefused(
                post("{'backend':'orders','instance':'10.0.0.9:80','fault':'hang','duration':'30s'}"),
                404,
                "instance: 10.0.0.9:80 (expected: an instance of orders, such as http://10.0.0.1:80)");
        for (String route : List.of("search-route", "plain-route")) {
            assertRefused(
                    post("{'route':'" + route + "','fault':'hang','duration':'30s'}"),
                    404,
                    "route: " + route + " (expected: a configured one, of a backend)");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'fault':'hang','duration':'30s'} | route, backend: null, null (expected: one of them)",
                "{'backend':'orders','fault':'delay','duration':'30s'}"
                        + " | fault: delay (expected: one of latency, abort, hang, reset, truncate)",
                "{'backend':'orders','fault':'hang','duration':'30'}"
                        + " | duration: 30 (expected: a duration with a unit, such as 30s)",
                "{'backend':'orders','fault':'hang','duration':'soon'}"
                        + " | duration: soon (expected: a duration with a unit, such as 30s)",
                "{'backend':'orders','fault':'hang','duration':'11m'}"
                        + " | duration: 660s (expected: at most weir.faults.max-duration, 600s)",
                "{'backend':'orders','fault':'hang','duration':'30s','percent':0}"
                        + " | percent: 0.0 (expected: > 0 and <= 100)",
                "{'backend':'orders','fault':'hang','duration':'30s','percnt':1}"
                        + " | unknown: [percnt] (expected: [afterBytes, backend, duration, fault, header, instance,"
                        + " latency, percent, route, status, value])"
            })
    void refusesWrongValuesWhole(String bodyAndDetail) {
        String[] parts = bodyAndDetail.split(" \\| ", -1);

        assertRefused(post(parts[0]), 400, parts[1]);
        assertThat(fixture.engine.faults()).isNull();
    }

    @Test
    void startsABoundedNumberOfFaults() {
        for (int i = 0; i < InjectedFaults.MAX_ACTIVE; i++) {
            post("{'backend':'orders','fault':'hang','duration':'30s'}");
        }
        assertRefused(
                post("{'backend':'orders','fault':'hang','duration':'30s'}"),
                409,
                "faults: 16 are active (expected: fewer; end one first)");
    }
}
