package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.weir.engine.ExchangeFixture.Upload;
import io.weir.limit.Limit.Evidence;
import io.weir.slowcaller.ReadAheadBudget;
import io.weir.slowcaller.SlowCaller;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ReadingAheadTest {

    private static final int ENOUGH = ExchangeFixture.READ_AHEAD_BYTES;

    private final ExchangeFixture fixture = new ExchangeFixture().withUpload();
    private final Upload upload = fixture.upload();

    // ---------------------------------------------------------------- before the permit

    @Test
    void asksForAPermitWhenTheBodyIsComplete() {
        fixture.start();
        upload.sends("a small ");
        upload.sends("body");
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.routeLimit.inUse()).isZero();
        assertThat(fixture.engine.readAheadBytes()).isEqualTo("a small body".length());

        upload.ends();
        assertThat(fixture.bulkhead.inUse()).isOne();
        fixture.attempt().sendsBody(10);
        assertThat(fixture.attempt().sent.bytes).hasToString("a small body");
        assertThat(fixture.attempt().sent.isComplete).isTrue();
        assertThat(fixture.engine.readAheadBytes()).isZero();

        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void asksForAPermitWhenEnoughIsReadAndReadsTheRestForTheBackend() {
        fixture.start();
        upload.sends(ENOUGH - 1);
        assertThat(fixture.attempts).isEmpty();
        upload.sends(1);
        assertThat(fixture.attempts).hasSize(1);
        upload.source.assertMaxRequested(0);

        fixture.attempt().sendsBody(3);
        assertThat(fixture.attempt().sent.bytes).hasSize(ENOUGH);
        upload.sends("rest");
        assertThat(fixture.attempt().sent.bytes.toString()).endsWith("rest");
        assertThat(fixture.attempt().sent.isComplete).isFalse();
        upload.ends();
        assertThat(fixture.attempt().sent.isComplete).isTrue();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void asksForAPermitOnceIfTheBodyEndsExactlyWhenEnoughIsRead() {
        fixture.start();
        upload.sends(ENOUGH);
        upload.ends();
        assertThat(fixture.attempts).hasSize(1);

        fixture.attempt().sendsBody(1);
        assertThat(fixture.attempt().sent.bytes).hasSize(ENOUGH);
        assertThat(fixture.attempt().sent.isComplete).isTrue();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsNothingForAnEmptyBody() {
        fixture.start();
        upload.ends();
        fixture.attempt().sendsBody(1);

        assertThat(fixture.attempt().sent.isComplete).isTrue();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    /** Its caller may wait for an answer before it sends more. */
    @Test
    void takesThePermitOfAGrpcCallFirst() {
        fixture.caller.headers.set("content-type", "application/grpc");
        fixture.withHttp2().start();
        assertThat(fixture.bulkhead.inUse()).isOne();
        upload.source.assertWasNotSubscribed();

        fixture.attempt().sendsBody(1);
        upload.sends("now");
        assertThat(fixture.attempt().sent.bytes).hasToString("now");
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    /** What any caller can claim, of any backend. */
    @ParameterizedTest
    @CsvSource({"expect, 100-continue", "content-type, application/grpc"})
    void aFieldOfTheCallerTakesNoPermitBeforeTheBody(String field, String value) {
        fixture.caller.headers.set(field, value);
        fixture.start();
        assertThat(fixture.bulkhead.inUse()).isZero();
        upload.sends("body");
        assertThat(fixture.bulkhead.inUse()).isZero();

        upload.ends();
        fixture.attempt().sendsBody(1);
        assertThat(fixture.attempt().sent.bytes).hasToString("body");
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void refusesACallerThatAwaits100ContinueWithoutItsBodyIfTheBulkheadIsFull() {
        fixture.caller.headers.set("expect", "100-continue");
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().start();

        upload.source.assertWasNotSubscribed();
        fixture.freePermit();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
    }

    @Test
    void takesThePermitOfAStreamFirst() {
        fixture.withStreamRoute().start();
        assertThat(fixture.streams.inUse()).isOne();
        upload.source.assertWasNotSubscribed();

        fixture.attempt().fails();
        fixture.assertEndedCleanly();
    }

    @Test
    void readsNothingWhileTheBreakerIsOpen() {
        fixture.health.operator().forceOpen();
        fixture.start();

        upload.source.assertWasNotSubscribed();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
    }

    @Test
    void refusesAReadBodyIfTheBreakerHasOpenedMeanwhile() {
        fixture.start();
        upload.sends("body");
        fixture.health.operator().forceOpen();
        upload.ends();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
    }

    // ---------------------------------------------------------------- buffers

    @Test
    void keepsAWholeBodyWithoutACopyAndCopiesSmallPartsTogether() {
        fixture.start();
        ByteBuf first = upload.sends("first");
        ByteBuf second = upload.sends("second");
        ByteBuf third = upload.sends("third");
        assertThat(first.refCnt()).isOne();
        assertThat(second.refCnt()).isZero();
        assertThat(third.refCnt()).isZero();

        upload.ends();
        fixture.attempt().sendsBody(2);
        assertThat(fixture.attempt().sent.bytes).hasToString("firstsecondthird");
        assertThat(first.refCnt()).isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void passesOnAsMuchAsTheBackendTakes() {
        fixture.start();
        upload.sends("first");
        upload.sends("second");
        upload.ends();

        fixture.attempt().sendsBody(1);
        assertThat(fixture.attempt().sent.bytes).hasToString("first");
        assertThat(fixture.engine.readAheadBytes()).isEqualTo("second".length());
        fixture.attempt().answers();
        fixture.exchange().flushed();
        fixture.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- ends

    @Test
    void releasesTheBodyIfTheCallerLeaves() {
        fixture.start();
        ByteBuf part = upload.sends("part");
        fixture.exchange().callerLeft();

        assertThat(part.refCnt()).isZero();
        upload.source.assertCancelled();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
    }

    /** As for a reset of an HTTP/2 stream: the body fails, and the door reports that the caller has left. */
    @Test
    void endsOnceIfTheBodyFailsAndTheCallerLeaves() {
        fixture.start();
        upload.sends("part");
        upload.breaksOff();
        fixture.exchange().callerLeft();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
        assertThat(fixture.caller.events()).isEqualTo("nothing");
    }

    @Test
    void releasesTheBodyIfTheCallerLeavesWhileItsCallWaitsForAPermit() {
        fixture.takePermit().start();
        upload.sends(ENOUGH);
        assertThat(fixture.bulkhead.queued()).isOne();
        upload.breaksOff();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-closed 499");
    }

    @Test
    void endsAtTheDeadlineAsTheCallersFault() {
        fixture.start();
        for (int i = 0; i < 20; i++) {
            upload.sends("xx");
            fixture.advance(ExchangeFixture.DEADLINE.dividedBy(20));
        }

        upload.source.assertCancelled();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
        assertThat(fixture.observer.served).isEmpty();
    }

    @Test
    void countsNoDeadlineOfTheBackendIfTheCallerIsTooSlowAndTheDeadlineIsNotEnforced() {
        fixture.withoutEnforcement().start();
        for (int i = 0; i < 30; i++) {
            upload.sends("xx");
            fixture.advance(ExchangeFixture.DEADLINE.dividedBy(20));
        }
        upload.ends();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.observer.wouldRefuse).extracting(Enum::name).containsExactly("CLIENT_TOO_SLOW");
    }

    @Test
    void endsWhenTheBodyStalls() {
        fixture.start();
        upload.sends("part");
        fixture.advance(ExchangeFixture.BODY_IDLE);

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.record().detail()).isEqualTo("the request body stalls");
    }

    @Test
    void endsACallerThatSendsAByteNowAndThen() {
        fixture.start();
        fixture.advance(Duration.ofMillis(900));
        upload.sends("x");
        fixture.advance(Duration.ofMillis(199));
        assertThat(fixture.ended).isEmpty();
        fixture.advance(Duration.ofMillis(1));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.record().detail()).isEqualTo("the body arrives below the minimum rate");
    }

    @Test
    void refusesABodyThatIsTooLargeBeforeAPermit() {
        fixture.start();
        upload.sends((int) ExchangeFixture.MAX_BODY_BYTES + 1);

        upload.source.assertCancelled();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("payload-too-large 413");
        assertThat(fixture.attempts).isEmpty();
    }

    @Test
    void endsAtAShutdown() {
        fixture.start();
        upload.sends("part");
        fixture.engine.endAll();
        fixture.channel.runPendingTasks();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
    }

    @Test
    void keepsItsRouteInUseWhileItReadsSoThatAReloadWaitsForIt() {
        fixture.start();
        upload.sends("part");
        assertThat(fixture.inFlight.isZero()).isFalse();

        upload.ends();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    // ---------------------------------------------------------------- other backends, other attempts

    @Test
    void sendsTheReadBodyToTheFallbacksBackend() {
        fixture.bulkhead.resize(1, 0);
        fixture.withOtherBackend().takePermit().start();
        upload.sends("body");
        upload.ends();
        fixture.freePermit();

        assertThat(fixture.otherBulkhead.inUse()).isOne();
        fixture.attempt().sendsBody(1);
        assertThat(fixture.attempt().sent.bytes).hasToString("body");
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void releasesTheReadBodyBeforeAStaticFallbackIsRead() {
        fixture.bulkhead.resize(1, 0);
        fixture.withStaticFallback().takePermit().start();
        upload.sends("body");
        upload.ends();
        fixture.freePermit();

        assertThat(fixture.engine.readAheadBytes()).isZero();
        fixture.exchange().flushed();
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsTheReadBodyWithTheSecondAttemptIfTheFirstSentNothing() {
        fixture.withRetry().start();
        upload.sends("body");
        upload.ends();
        fixture.attempt().fails();
        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);

        fixture.attempt().sendsBody(1);
        assertThat(fixture.attempt().sent.bytes).hasToString("body");
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    // ---------------------------------------------------------------- all exchanges together

    @Test
    void endsTheSlowestUploadIfAllTogetherExceedTheirLimit() {
        fixture.start();
        upload.sends(90);
        SecondCall fast = new SecondCall();
        fixture.advance(ExchangeFixture.BODY_IDLE.dividedBy(2));
        SecondCall slow = new SecondCall();
        fixture.advance(Duration.ofNanos(ReadAheadBudget.SLOW_NANOS));
        slow.upload.sends(1);
        fast.upload.sends(59);
        assertThat(fixture.engine.readAheadBytes()).isEqualTo(ExchangeFixture.READ_AHEAD_TOTAL_BYTES);
        slow.upload.sends(1);
        fixture.channel.runPendingTasks();

        assertThat(slow.caller.events()).isEqualTo("refuse client-too-slow");
        assertThat(fixture.engine.readAheadBytes()).isLessThanOrEqualTo(ExchangeFixture.READ_AHEAD_TOTAL_BYTES);
        fast.exchange.callerLeft();
        fixture.exchange().callerLeft();
        fixture.channel.runPendingTasks();
        assertThat(fixture.ended).hasSize(3);
        assertThat(fixture.engine.readAheadBytes()).isZero();
        assertThat(fixture.engine.inFlight()).isZero();
    }

    @Test
    void requestsThePermitOfAFastUploadInsteadOfEndingIt() {
        fixture.bulkhead.resize(2, 0);
        fixture.routeLimit.resize(2, 0);
        fixture.start();
        upload.sends(90);
        SecondCall second = new SecondCall();
        second.upload.sends(80);
        fixture.channel.runPendingTasks();

        assertThat(fixture.ended).isEmpty();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.attempt().exchange).isSameAs(second.exchange);
        second.exchange.callerLeft();
        fixture.exchange().callerLeft();
        assertThat(fixture.engine.readAheadBytes()).isZero();
    }

    /** Another call of the same route. */
    private final class SecondCall {

        final Upload upload = new Upload();
        final FakeCaller caller = new FakeCaller(fixture.channel);
        final Exchange exchange;

        SecondCall() {
            caller.hasBody = true;
            caller.upload = upload.source.flux();
            exchange = new Exchange(fixture.engine, fixture.route(), caller, fixture.now());
            exchange.start();
        }
    }

    // ---------------------------------------------------------------- calls that their callers hold up

    @Test
    void movesACallToTheStreamsWhoseCallerHoldsUpItsUpload() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofNanos(HeldUpCall.PATIENCE_NANOS));

        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.routeLimit.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isOne();
        assertThat(fixture.observer.moved).containsExactly(MoveReason.HELD_UP);
        assertThat(fixture.limit.ended).as("without an answer, it is no sample").containsExactly(Evidence.NONE);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void movesACallToTheStreamsWhoseCallerDoesNotReadItsAnswer() {
        fixture.start();
        upload.ends();
        fixture.attempt().begins(200).isHeldUp = true;
        fixture.advance(Duration.ofMillis(200));

        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isOne();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.observer.moved).containsExactly(MoveReason.HELD_UP);
    }

    @Test
    void movesACallSoonerToTheStreamsWhileAnotherCallWaits() {
        fixture.routeLimit.resize(2, 0);
        fixture.start();
        upload.ends();
        SecondCall second = new SecondCall();
        second.upload.ends();
        assertThat(fixture.bulkhead.queued()).isOne();

        fixture.attempt().begins(200).isHeldUp = true;
        fixture.advance(Duration.ofNanos(HeldUpCall.PERIOD_IF_CALLS_WAIT_NANOS));
        fixture.channel.runPendingTasks();

        assertThat(fixture.streams.inUse()).isOne();
        assertThat(fixture.bulkhead.queued()).isZero();
        assertThat(fixture.attempt().exchange).isSameAs(second.exchange);
        second.exchange.callerLeft();
        fixture.exchange().callerLeft();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isZero();
    }

    /** The permit stands for work of the backend, whatever the caller has done before. */
    @Test
    void keepsACallInTheBulkheadThatItsCallerHeldUpBefore() {
        fixture.routeLimit.resize(2, 0);
        fixture.start();
        upload.sends(ENOUGH);
        FakeAttempt attempt = fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(60));
        upload.ends();
        attempt.hasBody(fixture.now()).sendsBody(10);
        SecondCall second = new SecondCall();
        second.upload.ends();
        assertThat(fixture.bulkhead.queued()).isOne();

        fixture.advance(Duration.ofMillis(45));
        assertThat(fixture.streams.inUse()).isZero();
        attempt.begins(200);
        fixture.advance(Duration.ofMillis(50));
        assertThat(fixture.bulkhead.queued()).isOne();
        assertThat(fixture.streams.inUse()).isZero();

        second.exchange.callerLeft();
        fixture.exchange().callerLeft();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isZero();
    }

    @Test
    void keepsACallInTheBulkheadThatItsCallerHoldsUpNoMore() {
        assertThat(fixture.streams.tryAcquire()).isTrue();
        fixture.start();
        upload.sends(ENOUGH);
        FakeAttempt attempt = fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(140));
        upload.ends();
        attempt.hasBody(fixture.now()).sendsBody(10);
        fixture.streams.release();

        fixture.advance(Duration.ofMillis(200));
        assertThat(fixture.bulkhead.inUse()).isOne();
        attempt.begins(200);
        fixture.advance(Duration.ofMillis(200));
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.streams.inUse()).isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    /** Every answer that takes longer is checked so often while calls wait. */
    @Test
    void checksAnAnswerThatNothingHoldsUpEvery25Milliseconds() {
        fixture.routeLimit.resize(2, 0);
        fixture.start();
        upload.ends();
        SecondCall second = new SecondCall();
        second.upload.ends();
        assertThat(fixture.bulkhead.queued()).isOne();
        fixture.attempt().begins(200);
        fixture.advance(Duration.ofMillis(1));

        assertThat(fixture.timersWithin(Duration.ofMillis(90))).isLessThanOrEqualTo(4);
        assertThat(fixture.bulkhead.queued()).isOne();
        second.exchange.callerLeft();
        fixture.finish();
    }

    /** A body of some hundred kilobytes takes longer than 10 ms over a usual network. */
    @Test
    void movesAnUploadNoSoonerWhileAnotherCallWaits() {
        fixture.routeLimit.resize(2, 0);
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        SecondCall second = new SecondCall();
        second.upload.ends();
        assertThat(fixture.bulkhead.queued()).isOne();

        fixture.advance(Duration.ofMillis(90));
        fixture.exchange().timePassed();
        assertThat(fixture.bulkhead.queued()).isOne();
        assertThat(fixture.streams.inUse()).isZero();
        second.exchange.callerLeft();

        fixture.advance(Duration.ofMillis(10));
        assertThat(fixture.streams.inUse()).isOne();
        fixture.exchange().callerLeft();
        assertThat(fixture.streams.inUse()).isZero();
    }

    @Test
    void keepsACallInTheBulkheadIfTheStreamsAreFull() {
        assertThat(fixture.streams.tryAcquire()).isTrue();
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(150));
        assertThat(fixture.bulkhead.inUse()).isOne();

        fixture.streams.release();
        fixture.advance(Duration.ofMillis(150));
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.streams.inUse()).isOne();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void keepsACallInTheBulkheadWhileItWaitsOnlyForTheBackend() {
        fixture.start();
        upload.sends(ENOUGH);
        upload.ends();
        fixture.attempt().sendsBody(1);
        fixture.advance(ExchangeFixture.DEADLINE.dividedBy(2));

        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.streams.inUse()).isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void givesBackThePermitOfAStreamIfTheCallerLeavesAfterTheMove() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(150));
        assertThat(fixture.streams.inUse()).isOne();
        fixture.exchange().callerLeft();

        fixture.assertEndedCleanly();
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endsACrawlingCallForAPermitOnlyIfTheBulkheadIsEnforced(boolean enforced) {
        if (!enforced) {
            fixture.withoutEnforcement();
        }
        SecondCall crawling = new SecondCall();
        moveToStreams(crawling.exchange);
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(150));

        assertThat(crawling.caller.events()).isEqualTo(enforced ? "refuse client-too-slow" : "nothing");
        fixture.exchange().callerLeft();
        crawling.exchange.callerLeft();
        assertThat(fixture.bulkhead.inUse()).isZero();
    }

    /** The call of a caller that crawls takes the only permit of the streams. */
    private void moveToStreams(Exchange exchange) {
        assertThat(fixture.streams.tryAcquire()).isTrue();
        long begin = fixture.now() - Duration.ofSeconds(3).toNanos();
        exchange.heldUp().movedTo(fixture.streams);
        exchange.heldUp().look(true, 0, 0, begin);
        exchange.heldUp().look(true, 0, 0, begin + SlowCaller.LONGEST_LOOK_NANOS);
        assertThat(exchange.heldUp().bytesPerSecond(fixture.now())).isZero();
    }

    /** Its caller may pause for as long as it wants. */
    @Test
    void neverTakesAGrpcUploadForSlow() {
        fixture.caller.headers.set("content-type", "application/grpc");
        fixture.withHttp2().start();
        FakeAttempt attempt = fixture.attempt().waitsForBody().sendsBody(100);
        for (int i = 0; i < 3; i++) {
            fixture.advance(Duration.ofMillis(600));
            upload.sends("x");
            attempt.moves(0, fixture.now());
        }

        assertThat(fixture.streams.inUse()).isOne();
        assertThat(fixture.exchange().heldUp().isBehind()).isFalse();
        assertThat(fixture.engine.resources().slowCallers().endSlowest(fixture.streams, fixture.now()))
                .isFalse();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void looksAtAMovedUploadAlsoIfItsCallerHoldsItUpAgainLater() {
        // An open breaker judges no calls, so nothing else is due.
        fixture.health.operator().forceOpen();
        fixture.withoutEnforcement().start();
        upload.sends(ENOUGH);
        FakeAttempt attempt = fixture.attempt().waitsForBody().sendsBody(1);
        fixture.advance(Duration.ofNanos(HeldUpCall.PATIENCE_NANOS));
        assertThat(fixture.streams.inUse()).isOne();
        attempt.hasBody(fixture.now());
        fixture.advance(Duration.ofNanos(SlowCaller.LOOK_NANOS));
        SlowCaller slow = fixture.exchange().heldUp();
        assertThat(slow.isBehind()).isFalse();

        attempt.isWaitingForUpload = true;
        attempt.moves(0, fixture.now());
        fixture.advance(Duration.ofNanos(SlowCaller.LOOK_NANOS));

        assertThat(slow.isBehind()).isTrue();
        upload.ends();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void endsAnUploadBelowTheMinimumRateAfterThePermit() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody().sendsBody(100);
        fixture.advance(Duration.ofMillis(900));
        upload.sends("x");
        fixture.attempt().moves(0, fixture.now());
        fixture.advance(Duration.ofMillis(250));

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.record().detail()).isEqualTo("the body arrives below the minimum rate");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void endsAtTheDeadlineAfterThePermitAsTheCallersFaultIfTheUploadIsSlow() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody().sendsBody(100);
        for (int i = 0; i < 20; i++) {
            upload.sends("xx");
            fixture.attempt().moves(0, fixture.now());
            fixture.advance(ExchangeFixture.DEADLINE.dividedBy(20));
        }

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("client-too-slow 408");
        assertThat(fixture.breakerCounts()).isEqualTo("0/0");
    }

    @Test
    void doesNotEndAnUploadAtTheMinimumRate() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().sendsBody(100);
        for (int i = 0; i < 18; i++) {
            fixture.advance(Duration.ofMillis(100));
            upload.sends("x");
        }
        upload.ends();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void excludesTheCallersTimeFromTheBackends() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().waitsForBody();
        fixture.advance(Duration.ofMillis(700));
        assertThat(fixture.exchange().backendNanosSoFar()).isZero();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.observer.served).containsExactly(Duration.ZERO);
        assertThat(fixture.record().backendNanos()).isZero();
    }

    @Test
    void failsAnUploadThatBreaksOffDuringTheAttempt() {
        fixture.start();
        upload.sends(ENOUGH);
        fixture.attempt().sendsBody(5);
        List<Throwable> failures = new ArrayList<>();
        upload.breaksOff();
        Throwable failure = fixture.attempt().sent.failure;
        if (failure != null) {
            failures.add(failure);
        }

        assertThat(failures).hasExactlyElementsOfTypes(IOException.class);
        fixture.exchange().callerLeft();
        fixture.assertEndedCleanly();
    }
}
