package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.faults.ActiveFaults;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import io.weir.limit.Limit.Evidence;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Injected faults look to the protections as if the backend misbehaved, and hold nothing in the end. */
class InjectedAttemptTest {

    private static final Duration LASTING = Duration.ofMinutes(1);

    private final ExchangeFixture fixture = new ExchangeFixture();
    private @Nullable InjectedFault fault;

    private ExchangeFixture inject(FaultType type, @Nullable Duration latency, int status) {
        return inject(new FaultScope(null, "orders", null), type, latency, status);
    }

    private ExchangeFixture inject(FaultScope scope, FaultType type, @Nullable Duration latency, int status) {
        FaultOrder order = new FaultOrder(scope, type, 100, null, null, latency, status, 0, LASTING);
        InjectedFault started = new InjectedFault(1, order, "alice", Instant.EPOCH, fixture.now() + LASTING.toNanos());
        fault = started;
        fixture.engine.inject(new ActiveFaults(List.of(started), () -> 0));
        return fixture;
    }

    // ---------------------------------------------------------------- hang

    @Test
    void hangsUntilTheDeadlineAndCountsAsAFailureOfTheBackend() {
        inject(FaultType.HANG, null, 0).start();
        fixture.advance(ExchangeFixture.DEADLINE.minusMillis(1));
        assertThat(fixture.ended).isEmpty();
        assertThat(fixture.bulkhead.inUse())
                .as("it holds its permit, as a real one")
                .isOne();

        fixture.advance(Duration.ofMillis(1));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
        assertThat(fixture.limit.ended).containsExactly(Evidence.TIMED_OUT);
        assertThat(fixture.attempts).as("nothing is sent").isEmpty();
        assertThat(fixture.record().attempts()).isOne();
        assertThat(fixture.record().fault()).isSameAs(fault);
        assertThat(Objects.requireNonNull(fault).calls()).isOne();
    }

    @Test
    void becomesOverdueAfterTheStallTime() {
        inject(FaultType.HANG, null, 0).start();
        fixture.advance(ExchangeFixture.STALL.plusMillis(20));
        assertThat(fixture.health.overdue()).isOne();

        fixture.advance(ExchangeFixture.DEADLINE);
        fixture.assertEndedCleanly();
    }

    @Test
    void goesOnHangingAfterTheEndOfItsFault() {
        inject(FaultType.HANG, null, 0).start();
        fixture.engine.inject(null);
        fixture.advance(ExchangeFixture.DEADLINE.minusMillis(1));
        assertThat(fixture.ended).isEmpty();

        fixture.advance(Duration.ofMillis(1));
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        fixture.assertEndedCleanly();
    }

    @Test
    void isRetriedAfterTheAttemptTimeout() {
        inject(FaultType.HANG, null, 0).withRetry(Duration.ofMillis(300)).start();
        fixture.engine.inject(null);
        fixture.advance(Duration.ofMillis(300));
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/1");
        assertThat(fixture.record().attempts()).isEqualTo(2);
        assertThat(fixture.record().fault()).as("of the first attempt").isSameAs(fault);
    }

    @ParameterizedTest
    @EnumSource(
            value = FaultType.class,
            names = {"HANG", "LATENCY"})
    void endsWithItsCaller(FaultType type) {
        inject(type, type == FaultType.LATENCY ? Duration.ofSeconds(1) : null, 0)
                .start();
        fixture.advance(Duration.ofMillis(100));
        fixture.exchange().callerLeft();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        assertThat(fixture.breakerCounts()).as("no evidence").isEqualTo("0/0");
        assertThat(fixture.attempts).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(
            value = FaultType.class,
            names = {"HANG", "LATENCY"})
    void endsWithTheGateway(FaultType type) {
        inject(type, type == FaultType.LATENCY ? Duration.ofSeconds(1) : null, 0)
                .start();
        fixture.engine.endAll();
        fixture.channel.runPendingTasks();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void endsWithAnInstanceThatLeaves() {
        inject(FaultType.HANG, null, 0).start();
        fixture.engine.endUsersOf(fixture.record().backend().instances().first().pool());
        fixture.channel.runPendingTasks();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void leavesTheBodyOfItsRequestUnread() {
        inject(FaultType.HANG, null, 0).withUpload().start();
        fixture.upload().sends(10);
        fixture.upload().ends();
        fixture.advance(ExchangeFixture.DEADLINE);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void appliesToStreamsAndHandshakes() {
        inject(FaultType.HANG, null, 0).withStreamRoute().start();
        fixture.advance(ExchangeFixture.DEADLINE);
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");

        ExchangeFixture webSocket = new ExchangeFixture().withWebSocket();
        webSocket.engine.inject(new ActiveFaults(List.of(Objects.requireNonNull(fault)), () -> 0));
        webSocket.start();
        webSocket.advance(ExchangeFixture.DEADLINE);
        webSocket.assertEndedCleanly();
        assertThat(webSocket.outcome()).isEqualTo("deadline-exceeded 504");
    }

    // ---------------------------------------------------------------- reset

    @Test
    void losesItsConnection() {
        inject(FaultType.RESET, null, 0).start();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
        assertThat(fixture.record().detail()).isEqualTo("connection reset by injected fault 1 (reset)");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
        assertThat(fixture.limit.ended).containsExactly(Evidence.UNAVAILABLE);
    }

    @Test
    void isNotRetriedWithABodySinceTheBackendMayHaveIt() {
        inject(FaultType.RESET, null, 0).withRetry().withUpload().start();
        fixture.upload().ends();
        fixture.advance(ExchangeFixture.BACKOFF);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
        assertThat(fixture.record().attempts()).isOne();
    }

    // ---------------------------------------------------------------- abort

    @ParameterizedTest
    @CsvSource({"503, 0/1", "404, 1/0", "500, 0/1"})
    void answersWithItsStatusWhichTheBreakerJudges(int status, String counts) {
        inject(FaultType.ABORT, null, status).start();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("refuse fault-injected");
        assertThat(fixture.outcome()).isEqualTo("fault-injected " + status);
        assertThat(fixture.record().detail()).isEqualTo("injected fault 1 (abort)");
        assertThat(fixture.breakerCounts()).isEqualTo(counts);
        assertThat(fixture.limit.ended).hasSize(1);
        assertThat(fixture.attempts).isEmpty();
    }

    @Test
    void isNoRefusalThatAFallbackReplaces() {
        inject(FaultType.ABORT, null, 503).withStaticFallback().start();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).as("like a backend's own 503").isEqualTo("fault-injected 503");
    }

    @Test
    void isRetriedForItsStatus() {
        inject(FaultType.ABORT, null, 503).withRetry().start();
        assertThat(fixture.ended).isEmpty();
        fixture.engine.inject(null);
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/1");
    }

    @Test
    void answersWithItsStatusWhenTheRetriesAreUsedUp() {
        inject(FaultType.ABORT, null, 503).withRetry().start();
        fixture.advance(ExchangeFixture.BACKOFF);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("fault-injected 503");
        assertThat(fixture.record().attempts()).isEqualTo(2);
        assertThat(fixture.breakerCounts()).isEqualTo("0/2");
    }

    // ---------------------------------------------------------------- latency

    @Test
    void sendsTheRequestAfterItsLatency() {
        inject(FaultType.LATENCY, Duration.ofMillis(400), 0).start();
        fixture.advance(Duration.ofMillis(399));
        assertThat(fixture.attempts).isEmpty();

        fixture.advance(Duration.ofMillis(1));
        assertThat(fixture.attempts).hasSize(1);
        fixture.attempt().connects();
        fixture.advance(Duration.ofMillis(100));
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
        assertThat(fixture.limit.latencies).as("the latency is the backend's").containsExactly(Duration.ofMillis(500));
        assertThat(fixture.record().attempts()).isOne();
    }

    /** The latency is longer than the time to connect. */
    @Test
    void grantsTheTimeToConnectFromTheEndOfItsLatencyOn() {
        inject(FaultType.LATENCY, Duration.ofMillis(1_200), 0).start();
        fixture.advance(Duration.ofMillis(1_200));
        assertThat(fixture.attempts).hasSize(1);

        fixture.advance(Duration.ofMillis(380));
        assertThat(fixture.ended).isEmpty();
        fixture.advance(Duration.ofMillis(40));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-timeout 504");
    }

    @Test
    void waitsForTheRestOfItsLatencyAfterTheEndOfItsFault() {
        inject(FaultType.LATENCY, Duration.ofMillis(400), 0).start();
        fixture.engine.inject(null);
        fixture.advance(Duration.ofMillis(399));
        assertThat(fixture.attempts).isEmpty();
        fixture.advance(Duration.ofMillis(1));
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void sendsNothingAfterTheDeadline() {
        inject(FaultType.LATENCY, Duration.ofSeconds(3), 0).start();
        fixture.advance(Duration.ofSeconds(4));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    // ---------------------------------------------------------------- which calls

    @Test
    void sparesTheCallsOfOtherRoutes() {
        inject(new FaultScope("other-route", null, null), FaultType.RESET, null, 0)
                .start();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().fault()).isNull();
    }

    @ParameterizedTest
    @CsvSource({"orders, , 200", ", orders, 200", ", other, bulkhead-full 503"})
    void actsOnAFallbacksBackendOnlyByTheBackendsName(
            @Nullable String route, @Nullable String backend, String outcome) {
        fixture.routeLimit.tryAcquire();
        inject(new FaultScope(route, backend, null), FaultType.RESET, null, 0)
                .withOtherBackend()
                .start();
        fixture.finish();
        fixture.routeLimit.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo(outcome);
    }

    @Test
    void costsNothingWhileNoFaultIsActive() {
        fixture.start();
        fixture.finish();
        assertThat(fixture.record().fault()).isNull();
        assertThat(fixture.outcome()).isEqualTo("200");
        fixture.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- probes

    @ParameterizedTest
    @EnumSource(
            value = FaultType.class,
            names = {"HANG", "RESET", "ABORT"})
    void keepsACopyOfARequestFromFindingTheBackendHealthy(FaultType type) {
        inject(type, null, type == FaultType.ABORT ? 503 : 0);
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofMillis(200));
        fixture.start();

        assertThat(fixture.probes).as("nothing is sent").isEmpty();
        fixture.advance(ExchangeFixture.STALL.multipliedBy(2));
        assertThat(fixture.health.word()).isEqualTo("open");
        assertThat(fixture.health.probes().underWay()).isZero();
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsACopyAfterItsLatency() {
        inject(FaultType.LATENCY, Duration.ofMillis(100), 0);
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofMillis(200));
        fixture.start();
        assertThat(fixture.probes).isEmpty();

        fixture.advance(Duration.ofMillis(100));

        assertThat(fixture.probes).hasSize(1);
        fixture.health.probes().answered(Objects.requireNonNull(fixture.lastProbe), fixture.now());
        fixture.assertEndedCleanly();
    }

    @Test
    void countsAnAnswerThatIsNoFailureAsAGoodOneOfACopy() {
        inject(FaultType.ABORT, null, 404);
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofMillis(200));
        fixture.start();

        assertThat(fixture.health.word()).isEqualTo("half-open");
        fixture.assertEndedCleanly();
    }
}
