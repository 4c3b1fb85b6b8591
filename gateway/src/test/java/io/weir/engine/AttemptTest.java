package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.netty.internal.shaded.reactor.pool.PoolAcquirePendingLimitException;

class AttemptTest {

    /** Longer than the time to connect: half of the deadline. */
    private static final Duration PAUSE =
            ExchangeFixture.DEADLINE.multipliedBy(3).dividedBy(4);

    private final ExchangeFixture fixture = new ExchangeFixture();

    @Test
    void isRetriedAfterTheBackoff() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        assertThat(fixture.attempts).hasSize(1);

        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().attempts()).isEqualTo(2);
        assertThat(fixture.breakerCounts()).isEqualTo("1/1");
        assertThat(fixture.observer.served).containsExactly(Duration.ZERO, Duration.ZERO);
    }

    @Test
    void isRetriedForAConfiguredStatus() {
        fixture.withRetry().start();
        FakeAttempt first = fixture.attempt().begins(503);
        first.answers();

        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(first.cancelled).as("the connection is reusable").isZero();
        fixture.attempt().begins(503);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("begin 503");
        assertThat(fixture.outcome()).isEqualTo("503");
        assertThat(fixture.breakerCounts()).isEqualTo("0/2");
    }

    @Test
    void countsAFailureStatusEvenIfTheAttemptIsRetried() {
        fixture.withoutFailure(503).withRetry().start();
        fixture.attempt().begins(503).answers();
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.attempt().begins(503);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.record().attempts()).isEqualTo(2);
        assertThat(fixture.breakerCounts()).isEqualTo("2/0");
    }

    @ParameterizedTest
    @CsvSource({"200, 300", "404, 300", "503, 0"})
    void recordsTheRoutesUsualTimeUnlessTheBackendFailed(int status, int usualMillis) {
        long[] usualNanos = {0};
        for (int i = 0; i < 5; i++) {
            ExchangeFixture call = new ExchangeFixture(fixture.usualTime);
            // Each fixture has its own clock.
            call.advance(Duration.ofSeconds(i));
            call.start().attempt().connects();
            call.advance(Duration.ofMillis(300));
            call.attempt().begins(status);
            call.finish();
            call.assertEndedCleanly();
            usualNanos[0] = fixture.usualTime.nanos(call.now());
        }
        assertThat(usualNanos[0]).isCloseTo(usualMillis * 1_000_000L, withinPercentage(4));
    }

    @Test
    void excludesTheCallersTimeFromTheUsualTime() {
        ExchangeFixture call = fixture;
        for (int i = 0; i < 5; i++) {
            call = new ExchangeFixture(fixture.usualTime);
            call.advance(Duration.ofSeconds(i));
            call.start().attempt().connects().isHeldUp = true;
            call.advance(Duration.ofMillis(300));
            call.finish();
        }
        assertThat(fixture.usualTime.nanos(call.now())).isBetween(1L, 10_000L);
    }

    /** A 101 would switch the protocol of the caller's connection; the others are not HTTP statuses. */
    @ParameterizedTest
    @ValueSource(ints = {0, 42, 101, 199, 1000})
    void failsWithoutAFinalStatus(int status) {
        fixture.start();
        fixture.attempt().begins(status);

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("refuse connection-lost");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
        assertThat(fixture.attempt().cancelled).isOne();
    }

    @Test
    void sendsTheCallerNothingOfASmallAnswerThatBreaksOff() {
        fixture.withRetry().start();
        fixture.attempt().beginsSmallAnswer(200).moves(3, fixture.now());
        fixture.attempt().fails();
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.attempt().beginsSmallAnswer(200).moves(2, fixture.now());
        fixture.attempt().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
        // The size of the refusal only.
        assertThat(fixture.record().answerBytes()).isEqualTo(FakeCaller.REFUSAL_BYTES);
    }

    @Test
    void isNotRetriedAfterItsAnswerHasBegun() {
        fixture.withRetry().start();
        fixture.attempt().begins(200);
        fixture.attempt().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 200");
    }

    /** The caller gets the known result instead of deadline-exceeded. */
    @Test
    void isNotRetriedIfTheDeadlinePassesDuringTheBackoff() {
        fixture.withRetry().start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.DEADLINE.minus(ExchangeFixture.BACKOFF));
        fixture.attempt().begins(503);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.outcome()).isEqualTo("503");
    }

    @Test
    void isRetriedAfterTheAttemptTimeout() {
        fixture.withRetry(ExchangeFixture.STALL).start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL);
        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/1");
    }

    @Test
    void attemptTimeoutExcludesTheTimeOfTheUpload() {
        fixture.withRetry(ExchangeFixture.STALL).withRequestBody().start();
        FakeAttempt attempt = fixture.attempt().waitsForBody();
        for (int i = 0; i < 3; i++) {
            fixture.advance(ExchangeFixture.BODY_IDLE.dividedBy(2));
            attempt.moves(1, fixture.now());
        }
        assertThat(fixture.ended).isEmpty();
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void reportsNoNegativeTimeIfTheCallerHoldsUpBothDirections() {
        List<Duration> recorded = new ArrayList<>();
        fixture.health.resilience4j().getEventPublisher().onSuccess(event -> recorded.add(event.getElapsedDuration()));
        fixture.withRequestBody().start();
        FakeAttempt attempt = fixture.attempt().waitsForBody().begins(200);
        attempt.isHeldUp = true;
        fixture.advance(ExchangeFixture.STALL);
        attempt.answers();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(recorded).containsExactly(Duration.ZERO);
    }

    @Test
    void releasesEverythingIfItsStartFails() {
        fixture.withFailingStart().withRetry().start();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("internal-error 500");
        assertThat(fixture.breakerCounts()).as("no failure of the backend").isEqualTo("0/0");
    }

    @Test
    void releasesEverythingIfItsStartFailsAfterAWait() {
        fixture.withFailingStart().takePermit().start();
        fixture.freePermit();
        fixture.advance(Duration.ZERO);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("internal-error 500");
        assertThat(fixture.breakerCounts()).as("no failure of the backend").isEqualTo("0/0");
    }

    @Test
    void isNotRetriedIfTheBreakerHasOpened() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        fixture.health.operator().forceOpen();
        fixture.advance(ExchangeFixture.BACKOFF);

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
    }

    @Test
    void isNoEvidenceAndIsNotRetriedIfTheGatewayIsShortOfFiles() {
        fixture.withRetry().start();
        fixture.attempt().failsWith(new ChannelException(new SocketException("Too many open files")));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("gateway-overloaded 503");
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void isNoEvidenceAndIsNotRetriedIfThePoolHasNoConnection() {
        fixture.withRetry().start();
        fixture.attempt().failsWith(new PoolAcquirePendingLimitException(16));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void isRefusedAsOverloadedIfThePoolHasNoFileForAConnection() {
        fixture.withRetry().withoutFiles().start();
        fixture.attempt().failsWith(new PoolAcquirePendingLimitException(16));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("gateway-overloaded 503");
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void isNotRetriedIfABodyMayHaveBeenSent() {
        fixture.withRetry().withRequestBody().start();
        fixture.attempt().connects().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void failsWithoutAConnectionAfterHalfOfItsTime() {
        fixture.start();
        fixture.advance(ExchangeFixture.DEADLINE.dividedBy(2).minusNanos(1));
        assertThat(fixture.ended).isEmpty();
        fixture.advance(Duration.ofNanos(1));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-timeout 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void isRefusedIfTheUploadIsIdle() {
        fixture.withRequestBody().start();
        fixture.attempt().waitsForBody();
        fixture.advance(ExchangeFixture.CONNECT_TIMEOUT);
        fixture.advance(ExchangeFixture.BODY_IDLE.minus(ExchangeFixture.CONNECT_TIMEOUT));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.record().detail()).isEqualTo("the request body stalls");
        assertThat(fixture.breakerCounts()).as("no failure of the backend").isEqualTo("0/0");
    }

    @Test
    void isBrokenOffIfTheStreamIsIdle() {
        fixture.withStreamRoute().start();
        FakeAttempt attempt = fixture.attempt().begins(200);
        attempt.moves(1, fixture.now());
        fixture.advance(ExchangeFixture.STREAM_IDLE.minusSeconds(1));
        attempt.moves(1, fixture.now());
        fixture.advance(ExchangeFixture.STREAM_IDLE.minusSeconds(1));
        assertThat(fixture.ended).isEmpty();

        fixture.advance(Duration.ofSeconds(1));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 200");
        assertThat(fixture.record().detail()).isEqualTo("the stream is idle");
        assertThat(fixture.record().answerBytes()).isEqualTo(2);
        assertThat(fixture.caller.events()).isEqualTo("begin 200, reset");
    }

    /** The caller's progress is checked 16 times per idle time-out. */
    @Test
    void isCheckedRarelyWhileAStreamIsIdleWhoseCallerHasReadEverything() {
        fixture.withStreamRoute().start();
        fixture.attempt().begins(200).moves(1, fixture.now());
        ChannelFuture unread = fixture.channel.write(Unpooled.wrappedBuffer(new byte[1]));
        assertThat(unread.isDone()).isFalse();
        fixture.advance(ExchangeFixture.READ_IDLE.dividedBy(8));
        assertThat(fixture.exchange().heldUp().isBehind()).isTrue();
        fixture.channel.flushOutbound();
        fixture.channel.releaseOutbound();
        fixture.advance(ExchangeFixture.READ_IDLE.dividedBy(8));
        assertThat(fixture.exchange().heldUp().isBehind()).isFalse();

        assertThat(fixture.timersWithin(ExchangeFixture.READ_IDLE.dividedBy(2))).isLessThanOrEqualTo(8);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void isBrokenOffIfTheCallerReadsNothing() {
        fixture.withStreamRoute().start();
        FakeAttempt attempt = fixture.attempt().begins(200);
        attempt.isHeldUp = true;
        attempt.moves(1, fixture.now());
        fixture.advance(ExchangeFixture.READ_IDLE);
        assertThat(fixture.ended).as("one byte was read").isEmpty();

        fixture.advance(ExchangeFixture.READ_IDLE);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 200");
        assertThat(fixture.record().detail()).isEqualTo("the caller does not read the answer");
    }

    @Test
    void countsAsOverdueWhileItIsInFlight() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.plusMillis(1));
        assertThat(fixture.health.overdue()).isOne();

        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void isNotOverdueByAPauseOfTheGateway() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        fixture.pause(ExchangeFixture.STALL.plusMillis(1));
        assertThat(fixture.health.overdue()).isZero();

        fixture.advance(ExchangeFixture.STALL);
        assertThat(fixture.health.overdue()).isOne();
        fixture.finish();

        fixture.assertEndedCleanly();
    }

    /** The connection was established in the pause, but the timer fires before the event loop reads that. */
    @Test
    void goesOnIfTheGatewayPausedWhileItConnected() {
        fixture.withMeasuredPauses().start();
        fixture.pause(PAUSE);
        assertThat(fixture.ended).isEmpty();
        fixture.attempt().connects();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempt().starts).isOne();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void hasTheConnectTimeoutOnlyOnceMoreAfterAPause() {
        fixture.withMeasuredPauses().start();
        fixture.pause(PAUSE);
        fixture.advance(ExchangeFixture.CONNECT_TIMEOUT.minusMillis(1));
        assertThat(fixture.ended).isEmpty();
        fixture.advance(Duration.ofMillis(1));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-timeout 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    /** The pool's own time-out, of one address. */
    @Test
    void connectsAgainIfThePoolsTimeoutFiredAfterAPause() {
        fixture.withMeasuredPauses().start();
        fixture.pause(ExchangeFixture.CONNECT_TIMEOUT);
        fixture.attempt().failsWith(new ConnectTimeoutException("connection timed out"));
        assertThat(fixture.attempt().starts).isEqualTo(2);
        fixture.attempt().connects();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).isEqualTo("1/0");
    }

    @Test
    void connectsAgainOnlyOnceAfterAPause() {
        fixture.withMeasuredPauses().start();
        fixture.pause(ExchangeFixture.CONNECT_TIMEOUT);
        fixture.attempt().failsWith(new ConnectTimeoutException("connection timed out"));
        fixture.attempt().failsWith(new ConnectTimeoutException("connection timed out"));

        fixture.assertEndedCleanly();
        assertThat(fixture.attempt().starts).isEqualTo(2);
        assertThat(fixture.outcome()).isEqualTo("connect-timeout 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void doesNotConnectAgainWithoutAPause() {
        fixture.withMeasuredPauses().start();
        fixture.advance(ExchangeFixture.CONNECT_TIMEOUT);
        fixture.attempt().failsWith(new ConnectTimeoutException("connection timed out"));

        fixture.assertEndedCleanly();
        assertThat(fixture.attempt().starts).isOne();
        assertThat(fixture.outcome()).isEqualTo("connect-timeout 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void endsAtItsDeadlineAlsoAfterAPause() {
        fixture.withMeasuredPauses().start();
        fixture.pause(ExchangeFixture.DEADLINE);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void isNoFailureIfTheGatewayPausedForAPartOfTheDeadline() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        Duration third = ExchangeFixture.DEADLINE.dividedBy(3);
        fixture.pause(third);
        fixture.advance(ExchangeFixture.DEADLINE.minus(third));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    /** Half of the deadline remains beside the pause: a second. */
    @ParameterizedTest
    @CsvSource({"30, 0/1", "250, 0/1", "400, 0/0"})
    void isAFailureIfItWaitedForThreeTimesTheUsualTimeBesideAPauseOfTheGateway(long usualMillis, String counts) {
        fixture.withMeasuredPauses();
        fixture.learnUsualTime(Duration.ofMillis(usualMillis));
        fixture.start();
        fixture.attempt().connects();
        Duration half = ExchangeFixture.DEADLINE.dividedBy(2);
        fixture.pause(half);
        fixture.advance(half);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo(counts);
    }

    @Test
    void isAFailureAlsoIfTheGatewaysProcessorIsThrottled() {
        fixture.withMeasuredPauses().start();
        fixture.attempt().connects();
        fixture.passDeadlineThrottled();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void isNoResultIfTheCallerLeaves() {
        fixture.start();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.plusMillis(1));
        fixture.exchange().callerLeft();

        fixture.assertEndedCleanly();
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        assertThat(fixture.health.overdue()).isZero();
    }

    @Test
    void isAFailureByItsTrailers() {
        fixture.start();
        fixture.attempt().begins(200);
        fixture.attempt().answers(new DefaultHttpHeaders().set("grpc-status", "14"));
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("begin 200, trailers");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }

    @Test
    void isAFailureByItsStatus() {
        fixture.start();
        fixture.attempt().beginsSmallAnswer(503);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 503");
        assertThat(fixture.breakerCounts()).isEqualTo("0/1");
    }
}
