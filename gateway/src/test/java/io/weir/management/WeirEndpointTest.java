package io.weir.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.door.RouteView;
import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.health.Health;
import io.weir.hedge.HedgeDelay;
import io.weir.hedge.HedgePolicy;
import io.weir.hedge.HedgeProperties;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.limit.LimitInForce;
import io.weir.limit.LimitSettings;
import io.weir.limit.Priority;
import io.weir.metrics.BackendMeters;
import io.weir.metrics.MeterBook;
import io.weir.overload.InFlightShare;
import io.weir.ratelimit.RateLimitProperties;
import io.weir.ratelimit.RateLimiter;
import io.weir.testing.ObservedGateway;
import io.weir.testing.VirtualTimer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import reactor.core.publisher.Mono;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class WeirEndpointTest {

    private static final HedgePolicy HEDGE =
            HedgePolicy.of(new HedgeProperties(HedgeDelay.of(Duration.ofMillis(80)), true), null);

    /** A gateway with one backend, a route through each door, and a route without a backend. */
    record OneBackend(Backend orders, OperatorSwitches switches) implements Gateway {

        private static final RateLimiter rateLimiter = RateLimiter.of(
                "orders",
                new RateLimitProperties("route", 60, Duration.ofMinutes(1), 10, 5_000, true, false),
                null,
                null,
                () -> 0);

        @Override
        public Map<String, Backend> backends() {
            return Map.of("orders", orders);
        }

        @Override
        public Map<String, List<OperatorChangeView>> operatorChanges() {
            return switches.inForce();
        }

        @Override
        public Collection<RouteView> routes() {
            return List.of(
                    new RouteView("orders-route", "orders", "compiled", null, rateLimiter, HEDGE, List.of()),
                    new RouteView(
                            "odd-route", "orders", "general", "filter: Retry is not compiled", null, null, List.of()),
                    new RouteView("plain-route", null, "general", "uri: not backend://", null, null, List.of()));
        }
    }

    private final List<String> requested = new ArrayList<>();
    private List<String> problems = List.of();
    private final OperatorChanges changes = new OperatorChanges() {

        @Override
        public Answer change(String backend, Map<String, String> limits, String by, @Nullable Duration lasting) {
            requested.add(backend + " " + limits + " by " + by + (lasting == null ? "" : " for " + lasting));
            return new Answer(List.of(), problems);
        }

        @Override
        public Answer release(String backend, String by) {
            requested.add(backend + " released by " + by);
            return new Answer(List.of(), List.of());
        }

        @Override
        public void withoutReload(Runnable action) {
            action.run();
        }
    };
    private final VirtualTimer timer = new VirtualTimer();
    private final RecentEvents recentEvents = new RecentEvents(timer::instant);
    private final ObservedGateway fixture = new ObservedGateway();
    private final BackendMeters meters = fixture.backendMeters(new MeterBook(new SimpleMeterRegistry()));
    private final WeirEndpoint endpoint = endpoint(meters);

    @AfterEach
    void close() {
        meters.close();
        fixture.close();
    }

    @Test
    void showsABackendsLiveState() {
        fixture.bulkhead.tryAcquire();
        fixture.streams.tryAcquire();
        fixture.guard.divide(List.of(
                new InFlightShare.Claim(fixture.share, null), new InFlightShare.Claim(new InFlightShare(), null)));
        assertThat(fixture.guard.takePlace(fixture.share, Priority.NORMAL)).isTrue();
        for (int i = 0; i < 3_000; i++) {
            // In the middle of each ten milliseconds.
            fixture.clock.addAndGet(5_000_000);
            fixture.serviceTime.recordServed(20_000_000);
            fixture.clock.addAndGet(5_000_000);
        }

        JsonNode shown = json(endpoint.one("orders"));
        String since = ((ObjectNode) shown.get("breaker")).remove("since").stringValue();
        assertThat(Instant.parse(since)).isBeforeOrEqualTo(Instant.now().minusSeconds(29));
        assertThat(shown).isEqualTo(JsonMapper.shared().readTree("""
                                {
                                  "uri": "http://orders:8080",
                                  "deadlineMs": 2000.0,
                                  "calls": {"active": 1, "limit": 2, "waiting": 0,
                                    "waitingByPriority": {"critical": 0, "normal": 0, "sheddable": 0},
                                    "queueCapacity": 3, "maxWaitMs": 0.0},
                                  "limit": {"inForce": 2, "binds": "fixed", "own": 2, "stated": null, "min": 2, "max": 2,
                                    "baseLatencyMs": null, "answersPerSecond": null, "utilisation": null,
                                    "reason": "fixed", "changedAt": null},
                                  "streams": {"active": 1, "limit": 5},
                                  "inFlight": {"active": 1, "guaranteed": 5},
                                  "breaker": {"state": "closed", "forced": false, "enforced": true,
                                    "why": "the start", "failureRate": null,
                                    "slowCallRate": null, "overdue": 0, "probes": 0, "nextProbeMs": null,
                                    "pushbackMs": null},
                                  "pool": {"acquired": 0, "idle": 0, "pending": 0, "limit": 23},
                                  "tenants": null,
                                  "law": {"arrivalRate": 100.0, "serviceMs": 20.0, "waitingMs": 0.0,
                                    "activeCalls": 2.0, "waitingCalls": 0.0, "waitingShare": 0.0,
                                    "uncongestedMs": 20.0, "limit": 2, "suggestedLimit": 5, "retired": 3000},
                                  "retryBudget": 0, "hedges": {},
                                  "dryRun": null,
                                  "instances": null, "check": null, "openRoutes": null, "changes": []
                                }"""));
    }

    @Test
    void showsAnAdaptiveLimitWithItsReasonAndTheTimeOfItsLastChange() {
        fixture.adapt();
        assertThat(json(endpoint.one("orders")).get("limit"))
                .isEqualTo(JsonMapper.shared().readTree("""
                                {"inForce": 8, "binds": "auto", "own": 8, "stated": null, "min": 2, "max": 100, "baseLatencyMs": null,
                                  "answersPerSecond": null, "utilisation": 0.0, "reason": "initial",
                                  "changedAt": "2023-11-14T22:13:20Z"}"""));

        fixture.serveSaturated(100, 50_000_000);

        JsonNode shown = json(endpoint.one("orders"));
        JsonNode limit = shown.get("limit");
        assertThat(limit.get("own").intValue())
                .isEqualTo(limit.get("inForce").intValue())
                .isGreaterThan(8);
        assertThat(shown.at("/law/suggestedLimit")).isEqualTo(limit.get("own"));
        assertThat(shown.at("/law/uncongestedMs")).isEqualTo(limit.get("baseLatencyMs"));
        assertThat(limit.get("baseLatencyMs").doubleValue()).isBetween(40., 60.);
        assertThat(limit.get("answersPerSecond").doubleValue()).isPositive();
        assertThat(limit.get("utilisation").doubleValue()).isBetween(.9, 1.);
        assertThat(limit.get("reason").stringValue()).isEqualTo("growth");
        assertThat(Instant.parse(limit.get("changedAt").stringValue()))
                .isAfter(Instant.parse("2023-11-14T22:13:20Z"))
                .isBefore(Instant.parse("2023-11-14T22:13:40Z"));
    }

    @Test
    void showsTheSourceOfTheLimitInForce() {
        fixture.adapt();
        fixture.limit.limitByOperator(5);
        assertLimit(5, 8, "operator");

        fixture.limit.limitBy(() -> 3);
        assertLimit(3, 8, "ramp");

        fixture.limit.limitByOperator(LimitInForce.NONE);
        fixture.limit.limitBy(() -> LimitInForce.NONE);
        assertLimit(8, 8, "auto");

        fixture.limit.configure(LimitSettings.fixed(20, 3));
        assertLimit(20, 20, "fixed");
        fixture.limit.showOperators(true);
        assertLimit(20, 20, "operator");
    }

    private void assertLimit(int inForce, int own, String binds) {
        JsonNode limit = json(endpoint.one("orders")).get("limit");
        assertThat(limit.get("inForce").intValue()).isEqualTo(inForce);
        assertThat(limit.get("own").intValue()).isEqualTo(own);
        assertThat(limit.get("binds").stringValue()).isEqualTo(binds);
    }

    @Test
    void showsNoSecretOfTheUri() {
        assertThat(json(endpoint.one("orders")).toString()).doesNotContain("secret");
    }

    @Test
    void showsWhenTheNextProbeIsDue() {
        fixture.health.resilience4j().transitionToOpenState();

        JsonNode breaker = json(endpoint.one("orders")).get("breaker");

        assertThat(breaker.get("state").stringValue()).isEqualTo("open");
        assertThat(breaker.get("nextProbeMs").doubleValue()).isEqualTo(200);
    }

    @Test
    void showsABackendWithoutMeters() {
        assertThat(json(endpoint(BackendObserver.NONE).one("orders")).get("law").isNull())
                .isTrue();
    }

    @Test
    void showsTheDoorOfEveryRouteAndTheReason() {
        assertThat(json(endpoint.all()).get("routes"))
                .isEqualTo(JsonMapper.shared().readTree("""
                                [
                                  {"id": "orders-route", "backend": "orders", "door": "compiled", "why": null,
                                    "rateLimit": {"key": "route", "permits": 60, "periodSeconds": 60.0, "burst": 10,
                                      "enforced": true, "keys": 0, "maxKeys": 5000, "forgottenKeys": 0},
                                    "hedge": {"afterMs": 80.0, "enforced": true}},
                                  {"id": "odd-route", "backend": "orders", "door": "general",
                                    "why": "filter: Retry is not compiled", "rateLimit": null, "hedge": null},
                                  {"id": "plain-route", "backend": null, "door": "general",
                                    "why": "uri: not backend://", "rateLimit": null, "hedge": null}
                                ]"""));
    }

    @Test
    void showsTheGatewayAsAWhole() {
        fixture.guard.observe(300_000_000, 1, 12);
        fixture.drain.enter(Drain.Phase.ANNOUNCED);

        JsonNode all = json(endpoint.all());

        assertThat(all.get("backends").propertyNames()).containsExactly("orders");
        assertThat(all.get("gateway")).isEqualTo(JsonMapper.shared().readTree("""
                                {"phase": "announced", "inFlight": 0, "maxInFlight": 100,
                                  "sharedInFlight": 0, "maxSharedInFlight": 100, "streams": 0,
                                  "eventLoopDelayMs": 300.0, "memoryPercent": 12, "overloaded": true}"""));
    }

    @Test
    void answersNotFoundForAnUnknownBackend() {
        assertThat(endpoint.one("payments")).isNull();
        assertThat(force("payments", "open").getStatus()).isEqualTo(404);
    }

    @Test
    void forcesAndReleasesABreaker() {
        long now = fixture.clock.get();

        assertState(force("orders", "open"), "forced-open", true);
        assertThat(fixture.health.permits(now)).isFalse();

        assertState(force("orders", "closed"), "forced-closed", true);
        assertThat(fixture.health.permits(now)).isTrue();

        fixture.health.operator().forceOpen();
        assertState(force("orders", "released"), "closed", false);
        assertThat(fixture.health.permits(now)).isTrue();
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "Open", "half-open", "shut"})
    void rejectsAnUnknownWordAndNamesTheExpectedOnes(@Nullable String word) {
        WebEndpointResponse<Object> response = force("orders", word);

        assertThat(response.getStatus()).isEqualTo(400);
        assertThat(response.getBody())
                .isEqualTo(Map.of(
                        "status",
                        400,
                        "detail",
                        "breaker: " + (word == null ? "missing" : word) + " (expected: open, closed or released)"));
        assertThat(Health.stateWord(fixture.health.state())).isEqualTo("closed");
    }

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void logsTheOperatorOfAForcedBreaker(CapturedOutput output) {
        endpoint.change("orders", "open", null, null, null, null)
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "192.0.2.7:4711"))
                .block();

        assertThat(output.getAll())
                .contains("WARN")
                .contains("Breaker of backend orders forced by 192.0.2.7:4711: open; it was closed and is forced-open");
    }

    @Test
    void changesLimits() {
        WebEndpointResponse<Object> response = endpoint.change(
                        "orders", null, null, null, null, Map.of("max-concurrent-calls", "20", "deadline", "1s"))
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "192.0.2.7:4711"))
                .block();

        assertThat(response).extracting(WebEndpointResponse::getStatus).isEqualTo(200);
        assertThat(requested).containsExactly("orders {deadline=1s, max-concurrent-calls=20} by 192.0.2.7:4711");
    }

    @Test
    void changesNothingIfALimitIsInvalid() {
        problems = List.of("max-concurrent-calls: 0 (expected: 1 to 1000000)");

        WebEndpointResponse<Object> response = endpoint.change(
                        "orders", "open", null, null, null, Map.of("max-concurrent-calls", "0"))
                .block();

        assertThat(response).extracting(WebEndpointResponse::getStatus).isEqualTo(400);
        assertThat(response)
                .extracting(WebEndpointResponse::getBody)
                .isEqualTo(Map.of("status", 400, "detail", "max-concurrent-calls: 0 (expected: 1 to 1000000)"));
        assertThat(Health.stateWord(fixture.health.state())).isEqualTo("closed");
    }

    @Test
    void collectsAllOtherMembersOfTheBodyAsLimits() {
        assertThat(OtherMembersAdvisor.limits()
                        .collect(Map.of("backend", "orders", "breaker", "open", "max-concurrent-calls", "20")))
                .containsEntry("limits", Map.of("max-concurrent-calls", "20"))
                .containsEntry("breaker", "open")
                .containsEntry("backend", "orders");
    }

    // ---------------------------------------------------------------- time to live

    @Test
    void forcesABreakerForATimeAndShowsItsEnd() {
        WebEndpointResponse<Object> response = endpoint.change("orders", "open", null, null, "10m", null)
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "ops (192.0.2.7:4711)"))
                .block();

        assertThat(response).isNotNull();
        assertThat(json(response.getBody()).get("changes"))
                .isEqualTo(JsonMapper.shared().readTree("""
                                [{"change": "breaker", "value": "open", "instance": null, "by": "ops (192.0.2.7:4711)",
                                  "since": "1970-01-01T00:00:00Z", "until": "1970-01-01T00:10:00Z"}]"""));
        assertThat(json(endpoint.all()).at("/backends/orders/changes/0/until").stringValue())
                .isEqualTo("1970-01-01T00:10:00Z");

        timer.advance(Duration.ofMinutes(10));

        assertThat(json(endpoint.one("orders")).get("changes")).isEmpty();
        assertThat(fixture.health.isForced()).isFalse();
    }

    @Test
    void drainsAnInstanceForATime() {
        Instances instances = fixture.instances(REPLICAS);
        WeirEndpoint replicated = endpoint(fixture.backend(meters, instances));

        replicated.change("orders", null, "10.0.0.2:80", "drain", "10m", null).block();
        assertThat(json(replicated.one("orders")).at("/changes/0/instance").stringValue())
                .isEqualTo("http://10.0.0.2:80");

        timer.advance(Duration.ofMinutes(10));
        assertThat(instances.all().get(1).health().word()).isEqualTo("half-open");
    }

    @Test
    void changesLimitsForATimeAndReleasesThem() {
        endpoint.change("orders", null, null, null, "90s", Map.of("max-concurrent-calls", "20"))
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "ops"))
                .block();
        endpoint.change("orders", null, null, null, null, Map.of("limits", "released"))
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "ops"))
                .block();

        assertThat(requested)
                .containsExactly("orders {max-concurrent-calls=20} by ops for PT1M30S", "orders released by ops");
    }

    @ParameterizedTest
    @CsvSource({
        "10, 'a duration with a unit, such as 30s'",
        "soon, 'a duration with a unit, such as 30s'",
        "'', 'a duration with a unit, such as 30s'",
        "99999999999999999999d, 'a duration with a unit, such as 30s'",
        "9223372036854775807d, 'a duration with a unit, such as 30s'",
        "-5m, 1s to 7d",
        "999ms, 1s to 7d",
        "8d, 1s to 7d"
    })
    void refusesAWrongTimeToLiveAndChangesNothing(String duration, String expected) {
        WebEndpointResponse<Object> refused = endpoint.change(
                        "orders", "open", null, null, duration, Map.of("deadline", "1s"))
                .block();

        assertThat(refused).isNotNull();
        assertThat(refused.getStatus()).isEqualTo(400);
        assertThat(json(refused.getBody()).get("detail").stringValue())
                .isEqualTo("duration: " + duration + " (expected: " + expected + ")");
        assertThat(fixture.health.isForced()).isFalse();
        assertThat(requested).isEmpty();
    }

    @Test
    void refusesATimeToLiveOfARelease() {
        assertThat(detail(endpoint.change("orders", "released", null, null, "10m", null)))
                .isEqualTo("duration: 10m (expected: none beside released or return)");
        assertThat(detail(endpoint.change("orders", null, "10.0.0.1:80", "return", "10m", null)))
                .isEqualTo("duration: 10m (expected: none beside released or return)");
        assertThat(detail(endpoint.change("orders", null, null, null, "10m", Map.of("limits", "released"))))
                .isEqualTo("duration: 10m (expected: none beside released or return)");
        assertThat(detail(endpoint.change("orders", null, null, null, null, Map.of("limits", "back"))))
                .isEqualTo("limits: back (expected: released, and no limit beside it)");
        assertThat(detail(endpoint.change(
                        "orders", null, null, null, null, Map.of("limits", "released", "deadline", "1s"))))
                .isEqualTo("limits: released (expected: released, and no limit beside it)");
        assertThat(requested).isEmpty();
    }

    private static String detail(Mono<WebEndpointResponse<Object>> change) {
        WebEndpointResponse<Object> refused = change.block();
        if (refused == null) {
            throw new AssertionError("no response");
        }
        assertThat(refused.getStatus()).isEqualTo(400);
        return json(refused.getBody()).get("detail").stringValue();
    }

    // ---------------------------------------------------------------- instances

    private static final List<String> REPLICAS = List.of("10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80");

    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void drainsAnInstanceAndReturnsIt(CapturedOutput output) {
        Instances instances = fixture.instances(REPLICAS);
        WeirEndpoint replicated = endpoint(fixture.backend(meters, instances));

        WebEndpointResponse<Object> drained = change(replicated, "http://10.0.0.2:80", "drain");
        assertThat(drained.getStatus()).isEqualTo(200);
        assertThat(states(drained)).containsExactly("closed", "drained", "closed");
        JsonNode shown = json(drained.getBody()).at("/instances/1");
        assertThat(shown.at("/breaker/why").stringValue()).isEqualTo("drained by an operator");
        assertThat(shown.at("/breaker/forced").booleanValue()).isTrue();
        assertThat(json(drained.getBody()).at("/breaker/state").stringValue()).isEqualTo("closed");
        assertThat(instances.out()).containsExactly(instances.all().get(1));

        assertThat(states(change(replicated, "10.0.0.2:80", "return")))
                .containsExactly("closed", "half-open", "closed");
        assertThat(recentEvents.last())
                .extracting(event -> event.kind().word(), RecentEvents.Event::text, RecentEvents.Event::by)
                .containsExactly(
                        tuple("instance-returned", "Instance http://10.0.0.2:80 was returned", "192.0.2.7:4711"),
                        tuple("instance-drained", "Instance http://10.0.0.2:80 was drained", "192.0.2.7:4711"));
        assertThat(output.getAll())
                .contains("Instance http://10.0.0.2:80 of backend orders drained by 192.0.2.7:4711: it was closed with"
                        + " 0 calls under way, and is drained");
    }

    /** An operator's script may repeat a request whose answer it has not seen. */
    @Test
    void repeatsNoChangeOfAnInstance() {
        WeirEndpoint replicated = endpoint(fixture.backend(meters, fixture.instances(REPLICAS)));

        for (int i = 0; i < 2; i++) {
            assertThat(states(change(replicated, "10.0.0.2:80", "drain")))
                    .containsExactly("closed", "drained", "closed");
        }
        change(replicated, "10.0.0.2:80", "return");
        assertThat(states(change(replicated, "10.0.0.1:80", "return")))
                .containsExactly("closed", "half-open", "closed");
        assertThat(recentEvents.last()).hasSize(2);
    }

    @Test
    void refusesToDrainTheLastInstanceThatTakesCalls() {
        Instances instances = fixture.instances(REPLICAS);
        WeirEndpoint replicated = endpoint(fixture.backend(meters, instances));
        change(replicated, "10.0.0.1:80", "drain");
        instances.all().get(1).health().resilience4j().transitionToOpenState();

        WebEndpointResponse<Object> refused = change(replicated, "10.0.0.3:80", "drain");

        assertThat(refused.getStatus()).isEqualTo(409);
        assertThat(json(refused.getBody()).at("/detail").stringValue())
                .isEqualTo("instance: 10.0.0.3:80 is the last one that takes calls (expected: another one that does;"
                        + " force the breaker of orders open to stop all calls)");
        assertThat(instances.all().get(2).health().isIn()).isTrue();
        assertThat(change(replicated, "10.0.0.2:80", "drain").getStatus())
                .as("an ejected one")
                .isEqualTo(200);
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "10.0.0.2:80, -, 400, action: missing (expected: drain or return)",
                "10.0.0.2:80, Drain, 400, action: Drain (expected: drain or return)",
                "-, drain, 400, 'instance: missing (expected: instance, action and perhaps duration, and nothing else)'",
                "10.0.0.9:80, drain, 404, 'instance: 10.0.0.9:80 (expected: an instance of orders, such as http://10.0.0.1:80)'"
            })
    void refusesAnUnknownInstanceOrAction(
            @Nullable String instance, @Nullable String action, int status, String detail) {
        Instances instances = fixture.instances(REPLICAS);

        WebEndpointResponse<Object> refused = change(endpoint(fixture.backend(meters, instances)), instance, action);

        assertThat(refused.getStatus()).isEqualTo(status);
        assertThat(refused.getBody()).isEqualTo(Map.of("status", status, "detail", detail));
        assertThat(instances.out()).isEmpty();
    }

    @Test
    void changesNothingIfAnInstanceIsDrainedTogetherWithAnotherChange() {
        Instances instances = fixture.instances(REPLICAS);
        WeirEndpoint replicated = endpoint(fixture.backend(meters, instances));

        assertThat(replicated
                        .change("orders", "open", "10.0.0.2:80", "drain", null, null)
                        .block())
                .extracting(WebEndpointResponse::getStatus)
                .isEqualTo(400);
        assertThat(replicated
                        .change("orders", null, "10.0.0.2:80", "drain", null, Map.of("deadline", "1s"))
                        .block())
                .extracting(WebEndpointResponse::getStatus)
                .isEqualTo(400);
        assertThat(instances.out()).isEmpty();
        assertThat(requested).isEmpty();
        assertThat(fixture.health.isForced()).isFalse();
    }

    @Test
    void drainsNoSingleInstance() {
        WebEndpointResponse<Object> refused = change(endpoint, "orders:8080", "drain");

        assertThat(refused.getStatus()).isEqualTo(400);
        assertThat(json(refused.getBody()).at("/detail").stringValue())
                .contains("expected: a backend with several instances");
        assertThat(fixture.health.isIn()).isTrue();
    }

    @Test
    void showsEachOfSeveralInstances() {
        Instances instances = fixture.instances(REPLICAS);
        Instance second = instances.all().get(1);
        second.served(20_000_000, fixture.clock.get());
        second.failed(1, fixture.clock.get());
        second.health().resilience4j().transitionToOpenState();
        second.health().pushback().asked(4_000_000_000L, fixture.clock.get());

        JsonNode shown =
                json(endpoint(fixture.backend(meters, instances)).one("orders")).at("/instances/1");

        ((ObjectNode) shown.get("breaker")).remove("since");
        ((ObjectNode) shown.get("breaker")).remove("nextProbeMs");
        assertThat(((ObjectNode) shown.get("breaker")).remove("pushbackMs").doubleValue())
                .as("with a jitter of a tenth")
                .isBetween(4000.0, 4400.0);
        assertThat(shown).isEqualTo(JsonMapper.shared().readTree("""
                                {"uri": "http://10.0.0.2:80", "weight": 1, "backup": false, "active": 0, "latencyMs": 20.0, "capacity": null,
                                  "answered": 1, "failed": 1, "ejections": 1,
                                  "breaker": {"state": "open", "forced": false, "enforced": true,
                                    "why": "opened through Resilience4j", "failureRate": null, "slowCallRate": null,
                                    "overdue": 0, "probes": 0},
                                  "check": null,
                                  "pool": {"acquired": 0, "idle": 0, "pending": 0, "limit": 23}}"""));
    }

    private static List<String> states(WebEndpointResponse<Object> response) {
        return json(response.getBody())
                .get("instances")
                .valueStream()
                .map(instance -> instance.at("/breaker/state").stringValue())
                .toList();
    }

    private static WebEndpointResponse<Object> change(
            WeirEndpoint replicated, @Nullable String instance, @Nullable String action) {
        WebEndpointResponse<Object> response = replicated
                .change("orders", null, instance, action, null, null)
                .contextWrite(context -> context.put(ManagementGuard.CALLER, "192.0.2.7:4711"))
                .block();
        if (response == null) {
            throw new AssertionError("no response");
        }
        return response;
    }

    private WeirEndpoint endpoint(BackendObserver observer) {
        return endpoint(fixture.backend(observer));
    }

    private WeirEndpoint endpoint(Backend backend) {
        OperatorSwitches switches = new OperatorSwitches(
                () -> Map.of("orders", backend),
                changes,
                new OperatorChangeStore(timer, timer::nanos, timer::instant),
                recentEvents);
        return new WeirEndpoint(
                new OneBackend(backend, switches),
                fixture.engine,
                fixture.guard,
                fixture.drain,
                changes,
                switches,
                "boringssl");
    }

    private WebEndpointResponse<Object> force(String backend, @Nullable String word) {
        WebEndpointResponse<Object> response =
                endpoint.change(backend, word, null, null, null, null).block();
        if (response == null) {
            throw new AssertionError("no response");
        }
        return response;
    }

    private static void assertState(WebEndpointResponse<Object> response, String state, boolean forced) {
        assertThat(response.getStatus()).isEqualTo(200);
        JsonNode breaker = json(response.getBody()).get("breaker");
        assertThat(breaker.get("state").stringValue()).isEqualTo(state);
        assertThat(breaker.get("forced").booleanValue()).isEqualTo(forced);
    }

    private static JsonNode json(@Nullable Object view) {
        return JsonMapper.shared().readTree(JsonMapper.shared().writeValueAsString(view));
    }
}
