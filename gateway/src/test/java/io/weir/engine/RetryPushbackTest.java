package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Retry;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Retries while instances have asked, in answers to other calls, to be left alone. */
class RetryPushbackTest extends RetryDeciderTests {

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private void leaveAlone(int instance, long nanos) {
        instances.all().get(instance).health().pushback().asked(nanos, now);
    }

    private long left(int instance) {
        return instances.all().get(instance).health().pushback().leftNanos(now);
    }

    @Test
    void waitForTheOnlyInstance() {
        retry503();
        leaveAlone(0, SECOND);

        assertRetried(RetryDecider.afterStatus(attempt(), 503, NO_FIELDS, now), new Retry(left(0), null, 503));
    }

    @Test
    void areNoneIfTheDeadlineIsEarlier() {
        retry503();
        leaveAlone(0, 5 * SECOND);

        assertNotRetried(RetryDecider.afterStatus(attempt(), 503, NO_FIELDS, now));
        assertNotRetried(RetryDecider.afterFailure(attempt(), LOST, false, now));
    }

    @Test
    void doNotWaitWhereAnotherInstanceTakesThem() {
        retry503();
        instances = instances(2);
        leaveAlone(0, 5 * SECOND);

        assertRetried(
                RetryDecider.afterStatus(attempt(), 503, NO_FIELDS, now), new Retry(BACKOFF.toNanos(), null, 503));
    }

    @Test
    void waitForTheFirstOfSeveralInstances() {
        retry503();
        instances = instances(2);
        leaveAlone(0, 5 * SECOND);
        leaveAlone(1, SECOND);

        assertRetried(RetryDecider.afterFailure(attempt(), LOST, false, now), new Retry(left(1), LOST, 0));
    }

    @ParameterizedTest
    @CsvSource({"false, true", "true, false"})
    void withoutAPolicyAreNotSentToAnInstanceThatIsLeftAlone(boolean isLeftAlone, boolean isRetried) {
        instances = instances(2);
        if (isLeftAlone) {
            leaveAlone(0, SECOND);
            leaveAlone(1, SECOND);
        }
        OneAttempt attempt = attempt();

        assertThat(RetryDecider.afterFailure(attempt, LOST, false, now) != null).isEqualTo(isRetried);
        assertThat(RetryDecider.afterEjection(attempt, now) != null).isEqualTo(isRetried);
    }

    /** The instance has seen nothing of such a request, so it is no repeated one. */
    @Test
    void ofARequestThatWasNotSentDoNotWait() {
        leaveAlone(0, SECOND);
        OneAttempt attempt = attempt();
        attempt.isUnsent = true;

        assertRetried(RetryDecider.afterFailure(attempt, LOST, true, now), new Retry(0, LOST, 0));
    }

    @Test
    void goToAnotherInstanceThanTheOneThatIsLeftAlone() {
        instances = instances(3);
        leaveAlone(1, SECOND);
        OneAttempt attempt = attempt();

        Retry retry = RetryDecider.afterEjection(attempt, now);

        assertRetried(retry, new Retry(0, Refuse.CIRCUIT_OPEN, 0));
        assertThat(instances.choose(now, attempt.exchange.record().tried(), 0, 1))
                .isNotSameAs(instances.all().get(1));
    }

    /** A negative pushback of gRPC: do not retry. */
    @Test
    void areNoneIfGrpcsPushbackIsNegative() {
        retry503();

        assertNotRetried(RetryDecider.afterStatus(
                attempt(), 503, new DefaultHttpHeaders().set("grpc-retry-pushback-ms", "-1"), now));
        assertRetried(
                RetryDecider.afterStatus(
                        attempt(), 503, new DefaultHttpHeaders().set("grpc-retry-pushback-ms", "100"), now),
                new Retry(100 * MILLIS, null, 503));
    }
}
