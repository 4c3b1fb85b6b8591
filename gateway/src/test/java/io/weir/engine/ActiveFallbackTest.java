package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.HttpMethod;
import io.weir.outcome.Reason;
import org.junit.jupiter.api.Test;

class ActiveFallbackTest {

    private final Course course = new Course();

    @Test
    void answersInPlaceOfARefusal() {
        course.withStaticFallback().start();
        course.attempt().fails();
        course.finish();

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("answer 200");
        assertThat(course.exchange().fellBack()).isTrue();
        assertThat(course.exchange().fallbackReason()).isEqualTo(Reason.CONNECT_FAILED);
        assertThat(course.caller.answered).isEqualTo("instead");
        assertThat(course.exchange().answerBytes()).isEqualTo("instead".length());
    }

    /** Over HTTP/2 nobody else would leave the body out. */
    @Test
    void answersHeadWithoutABody() {
        course.caller.method = HttpMethod.HEAD;
        course.withStaticFallback().start();
        course.attempt().fails();
        course.finish();

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("answer 200");
        assertThat(course.caller.answered).isEmpty();
        assertThat(course.exchange().answerBytes()).isZero();
    }

    @Test
    void refusesAllTheSameAtItsOwnLimit() {
        course.withStaticFallback();
        assertThat(course.fallback().limit().tryAcquire()).isTrue();
        course.start();
        course.attempt().fails();
        course.fallback().limit().release();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connect-failed 502");
        assertThat(course.exchange().fellBack()).isFalse();
    }

    @Test
    void refusesForAReasonThatItDoesNotCover() {
        course.withStaticFallback().start();
        course.attempt().connects().fails();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void asksAnotherBackendUnderItsOwnLimitAlone() {
        course.withOtherBackend().start();
        course.attempt().fails();

        assertThat(course.bulkhead.inUse()).isZero();
        assertThat(course.routeLimit.inUse()).isZero();
        assertThat(course.otherBulkhead.inUse()).isOne();
        assertThat(course.fallback().limit().inUse()).isOne();
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
        assertThat(course.exchange().backend().name()).isEqualTo("other");
    }

    @Test
    void asksNoOtherBackendForWhatHasASentBody() {
        course.withRequestBody().withOtherBackend().start();
        course.attempt().fails();

        course.assertOver();
        assertThat(course.attempts).hasSize(1);
        assertThat(course.outcome()).isEqualTo("connect-failed 502");
    }

    @Test
    void tellsTheFirstReasonIfTheOtherBackendIsFull() {
        course.withOtherBackend().start();
        assertThat(course.otherBulkhead.tryAcquire()).isTrue();
        course.attempt().fails();
        course.otherBulkhead.release();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connect-failed 502");
    }
}
