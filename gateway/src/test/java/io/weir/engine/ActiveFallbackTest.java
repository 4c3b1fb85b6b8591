package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpMethod;
import io.weir.outcome.Reason;
import org.junit.jupiter.api.Test;

class ActiveFallbackTest {

    private final ExchangeFixture fixture = new ExchangeFixture();

    @Test
    void staticAnswerReplacesTheRefusal() {
        fixture.withStaticFallback().start();
        fixture.attempt().fails();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        assertThat(fixture.record().fellBack()).isTrue();
        assertThat(fixture.record().fallbackReason()).isEqualTo(Reason.CONNECT_FAILED);
        assertThat(fixture.caller.answered).isEqualTo("instead");
        assertThat(fixture.record().answerBytes()).isEqualTo("instead".length());
    }

    /** HTTP/2 does not drop the body of an answer to HEAD. */
    @Test
    void staticAnswerToHeadHasNoBody() {
        fixture.caller.method = HttpMethod.HEAD;
        fixture.withStaticFallback().start();
        fixture.attempt().fails();
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.caller.events()).isEqualTo("answer 200");
        assertThat(fixture.caller.answered).isEmpty();
        assertThat(fixture.record().answerBytes()).isZero();
    }

    @Test
    void isNotUsedAtItsOwnLimit() {
        fixture.withStaticFallback();
        assertThat(fixture.fallback().limit().tryAcquire()).isTrue();
        fixture.start();
        fixture.attempt().fails();
        fixture.fallback().limit().release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
        assertThat(fixture.record().fellBack()).isFalse();
    }

    @Test
    void isNotUsedForAReasonThatItDoesNotCover() {
        fixture.withStaticFallback().start();
        fixture.attempt().connects().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void fallbackBackendNeedsThePermitOfTheFallbackAndNotOfTheRoute() {
        fixture.withOtherBackend().start();
        fixture.attempt().fails();

        assertThat(fixture.bulkhead.inUse()).isZero();
        assertThat(fixture.routeLimit.inUse()).isZero();
        assertThat(fixture.otherBulkhead.inUse()).isOne();
        assertThat(fixture.fallback().limit().inUse()).isOne();
        // Each is the first one with its backend.
        assertThat(fixture.observer.attempted).containsExactly(true, true);
        fixture.finish();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.record().backend().name()).isEqualTo("other");
    }

    @Test
    void fallbackBackendIsNotAskedAfterABodyWasSent() {
        fixture.withRequestBody().withOtherBackend().start();
        fixture.attempt().fails();

        fixture.assertEndedCleanly();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
    }

    /** Such a refusal comes before anything of the body is read. */
    @Test
    void fallbackBackendReceivesTheBodyOfARequestThatIsRefusedAtOnce() {
        fixture.withAllowedNetworks("198.51.100.0/24")
                .withUpload()
                .withOtherBackend()
                .start();
        fixture.upload().sends("order");
        fixture.upload().ends();
        fixture.attempt().sendsBody(1);

        assertThat(fixture.attempt().sent.bytes).hasToString("order");
        assertThat(fixture.attempt().sent.isComplete).isTrue();
        fixture.finish();
        fixture.assertEndedCleanly();
        assertThat(fixture.record().fallbackReason()).isEqualTo(Reason.FORBIDDEN);
    }

    @Test
    void reportsTheOriginalReasonIfTheFallbackBackendIsFull() {
        fixture.withOtherBackend().start();
        assertThat(fixture.otherBulkhead.tryAcquire()).isTrue();
        fixture.attempt().fails();
        fixture.otherBulkhead.release();

        fixture.assertEndedCleanly();
        assertThat(fixture.outcome()).isEqualTo("connect-failed 502");
    }
}
