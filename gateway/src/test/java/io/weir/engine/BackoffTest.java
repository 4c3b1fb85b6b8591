package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class BackoffTest {

    private static final Duration MAX_DRAIN = Duration.ofNanos(Backoff.MAX_DRAIN_NANOS);

    private final ExchangeFixture fixture = new ExchangeFixture();

    // ---------------------------------------------------------------- the permit

    @Test
    void returnsThePermitsOfAFailedAttempt() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.routeLimit.inUse()).isZero();

        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.routeLimit.inUse()).isOne();

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void theNextAttemptIsARepeatedOne() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        assertThat(fixture.observer.attempted).containsExactly(true);
        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.observer.attempted).containsExactly(true, false);

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void queuesTheNextAttempt() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.bulkhead.queued()).isOne();

        fixture.freePermit();
        fixture.channel.runPendingTasks();
        assertThat(fixture.attempts).hasSize(2);

        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void holdsThePermitWhileTheAnswerIsDrained() {
        fixture.withRetry().start();
        FakeAttempt first = fixture.attempt().begins(503);
        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(first.isDraining()).isTrue();
        assertThat(fixture.bulkhead.inUse()).isOne();
        assertThat(fixture.attempts).hasSize(1);

        first.answers();
        fixture.advance(Duration.ZERO);

        assertThat(fixture.attempts).hasSize(2);
        assertThat(first.cancelled).isZero();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void waitsForTheBackoffAfterTheDrain() {
        fixture.withRetry().start();
        fixture.attempt().begins(503).answers();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.attempts).hasSize(1);

        fixture.advance(ExchangeFixture.BACKOFF);
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void closesTheConnectionOfAnAnswerThatDoesNotEnd() {
        fixture.withRetry().start();
        FakeAttempt first = fixture.attempt().begins(503);
        fixture.advance(MAX_DRAIN);

        assertThat(first.cancelled).isOne();
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void closesTheConnectionOfAnAnswerThatIsTooLarge() {
        fixture.withRetry().start();
        FakeAttempt first = fixture.attempt()
                .begins(
                        503,
                        new DefaultHttpHeaders().setInt(HttpHeaderNames.CONTENT_LENGTH, Backoff.MAX_DRAINED_BYTES + 1));
        assertThat(first.isDraining()).isFalse();
        assertThat(first.cancelled).isOne();

        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void retriesIfTheAnswerBreaksOffWhileItIsDrained() {
        fixture.withRetry().start();
        FakeAttempt first = fixture.attempt().begins(503);
        first.fails();
        assertThat(first.cancelled).isOne();
        assertThat(fixture.bulkhead.inUse()).isZero();

        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.breakerCounts()).as("the status alone counts").isEqualTo("1/1");
    }

    // ---------------------------------------------------------------- no further attempt

    @Test
    void passesTheFailureOnIfTheNextAttemptGetsNoPermit() {
        fixture.withRetry().start();
        fixture.attempt().fails();
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        fixture.advance(ExchangeFixture.MAX_WAIT);
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("refuse connect-failed");
        assertThat(fixture.record().attempts()).isOne();
    }

    @Test
    void passesTheAnswerOnIfTheNextAttemptGetsNoPermit() {
        fixture.withRetry().start();
        fixture.attempt().beginsSmallAnswer(503).answers();
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        fixture.exchange().flushed();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 503");
        assertThat(fixture.caller.answered).isEqualTo(FakeAttempt.BODY);
        assertThat(fixture.outcome()).isEqualTo("503");
        assertThat(fixture.record().answerBytes()).isEqualTo(FakeAttempt.BODY.length());
    }

    @Test
    void passesTheAnswerOnIfTheBreakerOpensDuringTheBackoff() {
        fixture.withRetry().start();
        fixture.attempt().beginsSmallAnswer(503).answers();
        fixture.health.operator().forceOpen();
        fixture.advance(ExchangeFixture.BACKOFF);
        fixture.exchange().flushed();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 503");
    }

    /** Nothing of the answer is known that could be passed on. */
    @Test
    void refusesIfTheAnswerIsNotKeptAndTheNextAttemptGetsNoPermit() {
        fixture.withRetry().start();
        fixture.attempt().begins(503).fails();
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("bulkhead-full 503");
    }

    @Test
    void replacesTheFailureByAFallbackIfTheNextAttemptGetsNoPermit() {
        fixture.withRetry().withStaticFallback().start();
        fixture.attempt().fails();
        fixture.bulkhead.resize(1, 0);
        fixture.takePermit().advance(ExchangeFixture.BACKOFF);
        fixture.exchange().flushed();
        fixture.freePermit();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        assertThat(fixture.outcome()).isEqualTo("connect-failed 200");
    }

    // ---------------------------------------------------------------- the backend's Retry-After

    @Test
    void waitsAsLongAsTheBackendAsksFor() {
        fixture.withRetry().start();
        asksToWait("1").answers();

        // With the jitter of the pushback, half of a tenth here.
        fixture.advance(Duration.ofMillis(1049));
        assertThat(fixture.attempts).hasSize(1);
        fixture.advance(Duration.ofMillis(1));
        assertThat(fixture.attempts).hasSize(2);

        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void returnsThePermitOfAnAnswerThatDoesNotEndLongBeforeTheNextAttempt() {
        fixture.withRetry().start();
        FakeAttempt first = asksToWait("1");
        fixture.advance(MAX_DRAIN);
        assertThat(first.cancelled).isOne();
        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.attempts).hasSize(1);

        fixture.advance(Duration.ofMillis(1050).minus(MAX_DRAIN));
        assertThat(fixture.attempts).hasSize(2);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void passesTheAnswerOnIfTheBackendAsksForMoreTimeThanIsLeft() {
        fixture.withRetry().start();
        asksToWait("2");

        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.caller.events()).isEqualTo("begin 503");
    }

    private FakeAttempt asksToWait(String seconds) {
        return fixture.attempt().begins(503, new DefaultHttpHeaders().set(HttpHeaderNames.RETRY_AFTER, seconds));
    }

    // ---------------------------------------------------------------- requests that were not sent

    @Test
    void triesAnUnsentRequestOnceMoreWithoutAPolicy() {
        fixture.withRetryBudget().withRequestBody().start();
        fixture.attempt().fails();
        fixture.advance(Duration.ZERO);
        assertThat(fixture.attempts).hasSize(2);

        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
    }

    @Test
    void triesAnUnsentRequestOnlyOnceMore() {
        fixture.withRetryBudget().start();
        fixture.attempt().fails();
        fixture.advance(Duration.ZERO);
        fixture.attempt().fails();
        fixture.advance(Duration.ZERO);

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(2);
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
    }

    @Test
    void doesNotTryASentRequestAgainWithoutAPolicy() {
        fixture.withRetryBudget().start();
        fixture.attempt().connects().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void doesNotTryAnUnsentRequestAgainWithoutABudget() {
        fixture.start();
        fixture.attempt().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
    }
}
