package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.health.RouteHealth;
import io.weir.hedge.HedgeDelay;
import io.weir.hedge.HedgeProperties;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.instance.LoadBalancingPolicy;
import io.weir.instance.LoadBalancingProperties;
import io.weir.instance.SessionCookieProperties;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What keeps a call from being sent a second time. */
class HedgeCheckTest {

    private HedgedCall call = new HedgedCall();

    private void assertRefused(HedgeResult result) {
        call.hedgeIsDue();
        assertThat(call.results).containsExactly(result);
        call.fixture.advance(HedgedCall.AFTER.multipliedBy(2));
        assertThat(call.results).as("asked once").hasSize(1);
        assertThat(call.fixture.attempts).hasSize(1);
        call.first().answers();
        assertThat(call.record().hedge()).isEqualTo(result);
        assertThat(call.attempted).containsExactly(true);
    }

    private void assertNotConsidered() {
        call.fixture.advance(HedgedCall.AFTER.multipliedBy(3));
        assertThat(call.fixture.attempts).hasSize(1);
        assertThat(call.results).isEmpty();
        call.first().answers();
        call.assertEndedCleanly();
        assertThat(call.record().hedge()).isNull();
    }

    @Test
    void refusesWithoutAFreePermit() {
        call.bulkhead.resize(1, 4);
        call.start();
        assertRefused(HedgeResult.NO_PERMIT);
        call.assertEndedCleanly();
    }

    @Test
    void refusesAtTheLimitOfTheRoute() {
        call.routeLimit.resize(1, 0);
        call.start();
        assertRefused(HedgeResult.NO_PERMIT);
        call.assertEndedCleanly();
        assertThat(call.budget.available()).as("given back").isEqualTo(2);
    }

    @Test
    void refusesAtTheLimitOfTheCaller() {
        call.fixture.withCallsPerKey(1, true);
        call.start();
        assertRefused(HedgeResult.NO_PERMIT);
        call.assertEndedCleanly();
    }

    /** A limit that is not enforced keeps hedges away all the same. */
    @Test
    void refusesWithoutAFreePermitOfABulkheadThatIsNotEnforced() {
        call.bulkhead.enforce(false);
        call.bulkhead.resize(1, 4);
        call.start();
        assertRefused(HedgeResult.NO_PERMIT);
        call.assertEndedCleanly();
    }

    @Test
    void refusesWhileCallsWait() {
        call.bulkhead.resize(1, 4);
        call.start();
        Exchange other = new Exchange(
                call.fixture.engine, call.record().route(), new FakeCaller(call.fixture.channel), call.fixture.now());
        other.start();
        assertThat(call.bulkhead.queued()).isOne();

        assertRefused(HedgeResult.QUEUE);
        other.callerLeft();
        call.fixture.channel.runPendingTasks();
        assertThat(call.bulkhead.inUse()).isZero();
    }

    @Test
    void refusesWithAnEmptyBudget() {
        call.start().emptyBudget();
        assertRefused(HedgeResult.BUDGET);
        call.assertEndedCleanly();
    }

    @Test
    void refusesAtABackendOfOneInstance() {
        call = new HedgedCall(1);
        call.start();
        assertRefused(HedgeResult.NO_INSTANCE);
        call.assertEndedCleanly();
    }

    @Test
    void refusesIfTheOnlyOtherInstanceIsOpen() {
        call = new HedgedCall(2);
        call.start();
        otherThanFirst().health().resilience4j().transitionToOpenState();
        assertRefused(HedgeResult.NO_INSTANCE);
        call.assertEndedCleanly();
    }

    @Test
    void refusesIfTheOnlyOtherInstanceWantsToBeLeftAlone() {
        call = new HedgedCall(2);
        call.start();
        otherThanFirst().health().pushback().asked(Duration.ofSeconds(5).toNanos(), call.fixture.now());
        assertRefused(HedgeResult.NO_INSTANCE);
        call.assertEndedCleanly();
    }

    @Test
    void refusesWhileAnInstanceStartsSlowly() {
        call.start();
        otherThanFirst().startSlowly(call.fixture.now());
        assertRefused(HedgeResult.RECOVERING);
        call.assertEndedCleanly();
    }

    @Test
    void refusesWhileAnInstanceIsHalfOpen() {
        call.start();
        otherThanFirst().health().operator().drain();
        otherThanFirst().health().operator().restore();
        assertRefused(HedgeResult.RECOVERING);
        call.assertEndedCleanly();
    }

    @Test
    void refusesWhileTheRouteIsNotClosed() {
        RouteHealth route = call.withOtherRoute();
        call.start();
        route.health().resilience4j().transitionToOpenState();
        assertRefused(HedgeResult.RECOVERING);
        call.assertEndedCleanly();
    }

    @Test
    void sendsBesideAnInstanceThatIsOpen() {
        call.start();
        otherThanFirst().health().resilience4j().transitionToOpenState();
        call.hedgeIsDue();

        assertThat(call.results).containsExactly(HedgeResult.STARTED);
        call.exchange().callerLeft();
        call.assertEndedCleanly();
    }

    @Test
    void countsOnlyInADryRun() {
        call = new HedgedCall(3, new HedgeProperties(HedgeDelay.of(HedgedCall.AFTER), false));
        call.start();
        assertRefused(HedgeResult.WOULD_START);
        call.assertEndedCleanly();
        assertThat(call.budget.available()).as("not touched").isEqualTo(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"POST", "PATCH"})
    void sendsNoRequestTwiceThatIsNotIdempotent(String method) {
        call.fixture.caller.method = HttpMethod.valueOf(method);
        call.start();
        assertNotConsidered();
    }

    @Test
    void sendsNoRequestTwiceThatHasABody() {
        call.fixture.caller.method = HttpMethod.PUT;
        call.fixture.caller.hasBody = true;
        call.start();
        call.fixture.advance(Duration.ofMillis(1));
        assertNotConsidered();
    }

    @Test
    void sendsNoStreamTwice() {
        call.mode = Mode.STREAM;
        call.start();
        assertNotConsidered();
    }

    /** Another instance may not know the session. */
    @Test
    void sendsNoCallTwiceWhoseSessionIsAtItsInstance() {
        Instances sticky = Instances.of(
                call.instances.get().all(),
                call.health,
                new LoadBalancingProperties(
                        LoadBalancingPolicy.LEAST_LATENCY,
                        null,
                        new SessionCookieProperties("SESSION", null),
                        Duration.ofSeconds(10),
                        null),
                bound -> 0,
                opened -> {});
        sticky.takeOver();
        call.instances.replace(sticky);
        HttpHeaders request = call.fixture.caller.headers;
        HttpHeaders answer = new DefaultHttpHeaders();
        sticky.bindSession(sticky.first(), request, answer, false);
        request.set("cookie", answer.get("set-cookie").replaceFirst(";.*", ""));

        call.start();
        assertThat(call.first().instance.isSameAs(sticky.first())).isTrue();
        assertNotConsidered();
    }

    @Test
    void sendsNoRequestTwiceWhileTheUsualTimeIsUnknown() {
        call = new HedgedCall(3, new HedgeProperties(HedgeDelay.P95, true));
        call.start();
        assertNotConsidered();
    }

    private Instance otherThanFirst() {
        return call.instances.get().all().stream()
                .filter(one -> !one.isSameAs(call.first().instance))
                .findFirst()
                .orElseThrow();
    }
}
