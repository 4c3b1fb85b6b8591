package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AttemptTest {

    private final Course course = new Course();

    @Test
    void isFollowedByAnotherAfterTheBackoff() {
        course.withRetry().start();
        course.attempt().fails();
        assertThat(course.attempts).hasSize(1);

        course.pass(Course.BACKOFF);
        assertThat(course.attempts).hasSize(2);
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
        assertThat(course.exchange().attempts()).isEqualTo(2);
        assertThat(course.judged()).isEqualTo("1/1");
        assertThat(course.observed.served).containsExactly(Course.BACKOFF);
    }

    @Test
    void isFollowedByAnotherIfItsStatusSaysSo() {
        course.withRetry().start();
        FakeAttempt first = course.attempt().begins(503);
        assertThat(first.cancelled).isOne();

        course.pass(Course.BACKOFF);
        course.attempt().begins(503);
        course.finish();

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("begin 503");
        assertThat(course.outcome()).isEqualTo("503");
        assertThat(course.judged()).isEqualTo("0/2");
    }

    @Test
    void isHeldAgainstTheBackendByItsStatusAloneWhetherAnotherFollowsOrNot() {
        course.withoutFailure(503).withRetry().start();
        course.attempt().begins(503);
        course.pass(Course.BACKOFF);
        course.attempt().begins(503);
        course.finish();

        course.assertOver();
        assertThat(course.exchange().attempts()).isEqualTo(2);
        assertThat(course.judged()).isEqualTo("2/0");
    }

    /** A 101 would make the caller's connection what nobody has asked for; the others are none. */
    @ParameterizedTest
    @ValueSource(ints = {0, 42, 101, 199, 1000})
    void isLostIfItsStatusIsNoFinalOne(int status) {
        course.start();
        course.attempt().begins(status);

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("refuse connection-lost");
        assertThat(course.judged()).isEqualTo("0/1");
        assertThat(course.attempt().cancelled).isOne();
    }

    @Test
    void bringsTheCallerNothingIfItBreaksOffInASmallAnswer() {
        course.withRetry().start();
        course.attempt().beginsWhole(200).brings(3, course.now());
        course.attempt().fails();
        course.pass(Course.BACKOFF);
        course.attempt().beginsWhole(200).brings(2, course.now());
        course.attempt().fails();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connection-lost 502");
        assertThat(course.exchange().answerBytes()).isZero();
    }

    @Test
    void isNotFollowedByAnotherOnceItsAnswerHasBegun() {
        course.withRetry().start();
        course.attempt().begins(200);
        course.attempt().fails();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connection-lost 200");
    }

    /** What is known already is told, rather than that there was no time for more. */
    @Test
    void isNotFollowedByAnotherThatTheDeadlineWouldNotLetBegin() {
        course.withRetry().start();
        course.attempt().connects();
        course.pass(Course.DEADLINE.minus(Course.BACKOFF));
        course.attempt().begins(503);
        course.finish();

        course.assertOver();
        assertThat(course.attempts).hasSize(1);
        assertThat(course.outcome()).isEqualTo("503");
    }

    @Test
    void isFollowedByAnotherIfItsAnswerDoesNotBeginInItsTime() {
        course.withRetry(Course.SLOW).start();
        course.attempt().connects();
        course.pass(Course.SLOW);
        course.pass(Course.BACKOFF);
        assertThat(course.attempts).hasSize(2);
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
        assertThat(course.judged()).isEqualTo("1/1");
    }

    @Test
    void hasItsTimeWithoutThatOfTheCallerWhoBringsABody() {
        course.withRetry(Course.SLOW).withRequestBody().start();
        FakeAttempt attempt = course.attempt().waitsForBody();
        for (int i = 0; i < 3; i++) {
            course.pass(Course.BODY_IDLE.dividedBy(2));
            attempt.brings(1, course.now());
        }
        assertThat(course.ended).isEmpty();
        assertThat(course.judged()).isEqualTo("0/0");
        course.finish();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("200");
    }

    @Test
    void takesNoLessThanNoTimeWhereTheCallerHoldsUpBothDirections() {
        List<Duration> taken = new ArrayList<>();
        course.breaker.resilience4j().getEventPublisher().onSuccess(event -> taken.add(event.getElapsedDuration()));
        course.withRequestBody().start();
        FakeAttempt attempt = course.attempt().waitsForBody().begins(200);
        attempt.heldUp = true;
        course.pass(Course.SLOW);
        attempt.answers();
        course.finish();

        course.assertOver();
        assertThat(taken).containsExactly(Duration.ZERO);
    }

    @Test
    void givesAllBackIfItCannotEvenBegin() {
        course.unableToAsk().withRetry().start();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("internal-error 500");
        assertThat(course.judged()).as("the backend is not to blame").isEqualTo("0/0");
    }

    @Test
    void givesAllBackIfItCannotEvenBeginAfterAWait() {
        course.unableToAsk().takePermit().start();
        course.freePermit();
        course.pass(Duration.ZERO);

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("internal-error 500");
        assertThat(course.judged()).as("the backend is not to blame").isEqualTo("0/0");
    }

    @Test
    void isNotFollowedByAnotherIfTheBreakerHasOpened() {
        course.withRetry().start();
        course.attempt().fails();
        course.breaker.forceOpen();
        course.pass(Course.BACKOFF);

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("circuit-open 503");
    }

    @Test
    void isNotFollowedByAnotherIfABodyMayHaveBeenSent() {
        course.withRetry().withRequestBody().start();
        course.attempt().connects().fails();

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connection-lost 502");
    }

    @Test
    void endsWithoutAConnectionInTime() {
        course.start();
        course.pass(Course.CONNECT_TIMEOUT);

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("connect-timeout 504");
        assertThat(course.judged()).isEqualTo("0/1");
    }

    @Test
    void endsWhenTheRequestsBodyStandsStill() {
        course.withRequestBody().start();
        course.attempt().waitsForBody();
        course.pass(Course.CONNECT_TIMEOUT);
        course.pass(Course.BODY_IDLE.minus(Course.CONNECT_TIMEOUT));

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("client-too-slow 408");
        assertThat(course.exchange().detail()).isEqualTo("the body stands still");
        assertThat(course.judged()).as("the backend is not to blame").isEqualTo("0/0");
    }

    @Test
    void endsAStreamThatStandsStill() {
        course.ofStreams().start();
        FakeAttempt attempt = course.attempt().begins(200);
        attempt.brings(1, course.now());
        course.pass(Course.STREAM_IDLE.minusSeconds(1));
        attempt.brings(1, course.now());
        course.pass(Course.STREAM_IDLE.minusSeconds(1));
        assertThat(course.ended).isEmpty();

        course.pass(Duration.ofSeconds(1));

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("deadline-exceeded 200");
        assertThat(course.exchange().detail()).isEqualTo("the stream stands still");
        assertThat(course.exchange().answerBytes()).isEqualTo(2);
        assertThat(course.caller.told()).isEqualTo("begin 200, reset");
    }

    @Test
    void endsWhenTheCallerTakesNothing() {
        course.ofStreams().start();
        FakeAttempt attempt = course.attempt().begins(200);
        attempt.heldUp = true;
        attempt.brings(1, course.now());
        course.pass(Course.READ_IDLE);
        assertThat(course.ended).as("one byte was taken").isEmpty();

        course.pass(Course.READ_IDLE);

        course.assertOver();
        assertThat(course.outcome()).isEqualTo("client-too-slow 200");
        assertThat(course.exchange().detail()).isEqualTo("the answer is not taken");
    }

    @Test
    void countsAsOverdueWhileItIsUnderWay() {
        course.start();
        course.attempt().connects();
        course.pass(Course.SLOW.plusMillis(1));
        assertThat(course.breaker.overdue()).isOne();

        course.finish();

        course.assertOver();
        assertThat(course.breaker.resilience4j().getMetrics().getNumberOfSlowCalls())
                .isOne();
    }

    @Test
    void isASlowCallIfTheCallerLeavesOnceItWasSlow() {
        course.start();
        course.attempt().connects();
        course.pass(Course.SLOW.plusMillis(1));
        course.exchange().callerLeft();

        course.assertOver();
        assertThat(course.judged()).isEqualTo("1/0");
        assertThat(course.breaker.resilience4j().getMetrics().getNumberOfSlowCalls())
                .isOne();
    }

    @Test
    void isJudgedByItsTrailers() {
        course.start();
        course.attempt().begins(200);
        course.attempt().answers(new DefaultHttpHeaders().set("grpc-status", "14"));
        course.finish();

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("begin 200, trailers");
        assertThat(course.judged()).isEqualTo("0/1");
    }

    @Test
    void isJudgedByItsStatus() {
        course.start();
        course.attempt().beginsWhole(503);
        course.finish();

        course.assertOver();
        assertThat(course.caller.told()).isEqualTo("answer 503");
        assertThat(course.judged()).isEqualTo("0/1");
    }
}
