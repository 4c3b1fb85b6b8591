package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.weir.health.Generation;
import io.weir.health.ProbeMode;
import io.weir.limit.Limit.Evidence;
import io.weir.limit.LimitSettings;
import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The samples that the engine gives to the backend's limit: one for each permit. */
class LimitSamplesTest {

    private static final Duration SERVICE_TIME = Duration.ofMillis(30);

    private final ExchangeFixture fixture = new ExchangeFixture();

    @ParameterizedTest
    @CsvSource({
        "200, false, ANSWERED",
        "404, false, ANSWERED",
        "500, false, ANSWERED",
        "503, false, UNAVAILABLE",
        "503, true, SHED",
        "429, false, ANSWERED",
        "429, true, QUOTA",
        "500, true, ANSWERED",
    })
    void anAnswerSaysWhatItsStatusSays(int status, boolean hasRetryAfter, Evidence expected) {
        HttpHeaders head = new DefaultHttpHeaders();
        if (hasRetryAfter) {
            head.set(HttpHeaderNames.RETRY_AFTER, "1");
        }
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(SERVICE_TIME);
        fixture.attempt().begins(status, head);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(expected);
        assertThat(fixture.limit.latencies).containsExactly(SERVICE_TIME);
    }

    @Test
    void aRefusedConnectionIsUnavailable() {
        fixture.start();
        fixture.attempt().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.UNAVAILABLE);
    }

    @Test
    void aResetBeforeOrDuringTheAnswerIsUnavailable() {
        fixture.start();
        fixture.attempt().begins(200).fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.UNAVAILABLE);
    }

    @Test
    void theGatewaysOwnShortageSaysNothing() {
        fixture.start();
        fixture.attempt().failsWith(new SocketException("Too many open files"));

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void aDeadlineThatPassesInTheBackendIsATimeout() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.DEADLINE);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.limit.ended).containsExactly(Evidence.TIMED_OUT);
    }

    @Test
    void aDeadlineThatTheCallerShortenedSaysNothing() {
        fixture.withCallerTimeout(SERVICE_TIME).start();
        fixture.attempt().connects();
        fixture.advance(SERVICE_TIME);

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void aDeadlineThatPassesWhileTheGatewayStandsStillSaysNothing() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        fixture.pause(ExchangeFixture.DEADLINE);

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void aDeadlineThatPassesWhileTheGatewaysProcessorIsThrottledIsASign() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        fixture.passDeadlineThrottled();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.TIMED_OUT);
    }

    @Test
    void anAnswerAcrossAPauseOfTheGatewaySaysNothing() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        fixture.pause(Duration.ofMillis(200));
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    /** As one of a dead shard, or a long poll: the permit of an adaptive limit is for calls that end. */
    @Test
    void aCallThatTheBackendLeavesBehindWaitsOnAmongTheStreamsAndIsASampleAtItsAnswer() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.dividedBy(2).plusMillis(40));
        Generation generation = Objects.requireNonNull(fixture.health.enter(fixture.now(), false));
        generation.answeredCallSentAt(fixture.now(), fixture.now());
        assertThat(fixture.bulkhead.inUse()).isOne();

        fixture.advance(ExchangeFixture.STALL);
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isOne();
        assertThat(fixture.observer.moved).containsExactly(MoveReason.LEFT_BEHIND);
        assertThat(fixture.limit.ended).isEmpty();
        assertThat(fixture.routeLimit.inUse())
                .as("a call of the route in the backend")
                .isOne();

        // A call that has moved is checked again for other reasons, also while there is room for more.
        fixture.streams.resize(4, 0);
        fixture.attempt().check(fixture.now());
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.limit.ended).containsExactly(Evidence.ANSWERED);
    }

    @Test
    void aCallThatTheBackendLeavesBehindUntilTheDeadlineSaysNothing() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.dividedBy(2).plusMillis(40));
        Objects.requireNonNull(fixture.health.enter(fixture.now(), false))
                .answeredCallSentAt(fixture.now(), fixture.now());
        fixture.advance(ExchangeFixture.STALL);
        assertThat(fixture.streams.inUse()).isOne();

        fixture.advance(ExchangeFixture.DEADLINE);

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void aFixedLimitIsExactAndCountsACallThatIsLeftBehind() {
        fixture.start();
        fixture.record().backend().limit().configure(LimitSettings.fixed(1, 1));
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.dividedBy(2).plusMillis(40));
        Objects.requireNonNull(fixture.health.enter(fixture.now(), false))
                .answeredCallSentAt(fixture.now(), fixture.now());

        fixture.advance(ExchangeFixture.STALL);
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.streams.inUse()).isZero();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void aCallThatNoLaterOneOvertakesKeepsItsPermit() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.multipliedBy(2));
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.streams.inUse()).isZero();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void aCallerWhoLeavesSaysNothing(boolean hasAnswerBegun) {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(SERVICE_TIME);
        if (hasAnswerBegun) {
            fixture.attempt().begins(200);
        }
        fixture.exchange().leave();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void anAnswerThatItsCallerHoldsUpIsASampleWithoutTheCallersTime() {
        fixture.start();
        fixture.advance(SERVICE_TIME);
        fixture.attempt().begins(200).isHeldUpFrom(fixture.now());
        fixture.advance(Duration.ofNanos(HeldUpCall.PATIENCE_NANOS));

        assertThat(fixture.observer.moved).containsExactly(MoveReason.HELD_UP);
        assertThat(fixture.limit.ended).containsExactly(Evidence.ANSWERED);
        assertThat(fixture.limit.latencies).containsExactly(SERVICE_TIME);
        assertThat(fixture.routeLimit.inUse()).isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.ANSWERED);
    }

    @Test
    void aRefusalThatItsCallerHoldsUpIsASignOfOverload() {
        fixture.start();
        fixture.attempt().begins(503).isHeldUp = true;
        fixture.advance(Duration.ofNanos(HeldUpCall.PATIENCE_NANOS));

        assertThat(fixture.observer.moved).containsExactly(MoveReason.HELD_UP);
        assertThat(fixture.limit.ended).containsExactly(Evidence.UNAVAILABLE);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void anUpgradeIsASampleUntilItsAnswer() {
        fixture.withWebSocket().start();
        fixture.advance(SERVICE_TIME);
        fixture.attempt().opensTunnel();

        assertThat(fixture.limit.ended).containsExactly(Evidence.ANSWERED);
        assertThat(fixture.limit.latencies).containsExactly(SERVICE_TIME);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void aStreamIsNoSample() {
        fixture.withStreamRoute().start();
        fixture.attempt().begins(200);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.started).isZero();
    }

    @Test
    void everyAttemptIsASampleOfItsOwn() {
        fixture.withRetry().start();
        fixture.attempt().beginsSmallAnswer(503).answers();
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.attempt().failsWith(new IOException("reset"));

        fixture.assertEndedCleanly();
        assertThat(fixture.limit.ended).containsExactly(Evidence.UNAVAILABLE, Evidence.UNAVAILABLE);
    }

    @Test
    void aCallWhosePermitTheBreakerHasGivenBackSaysNothing() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(SERVICE_TIME);
        fixture.health.resilience4j().transitionToOpenState();
        assertThat(fixture.bulkhead.inUse()).isZero();

        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.limit.ended).containsExactly(Evidence.NONE);
    }

    @Test
    void aProbeIsNoSample() {
        fixture.withProbes(ProbeMode.CALLER);
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(Duration.ofSeconds(1));
        fixture.start();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.limit.started).isZero();
    }
}
