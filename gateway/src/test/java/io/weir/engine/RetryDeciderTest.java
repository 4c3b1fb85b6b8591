package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.engine.Decision.Refuse;
import io.weir.engine.Decision.Retry;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.instance.TriedInstances;
import io.weir.outcome.Reason;
import io.weir.testing.TestHealth;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The table of an attempt's end and its request. Two retries are in the budget. */
class RetryDeciderTest extends RetryDeciderTests {

    // ---------------------------------------------------------------- an answer

    private @Nullable Retry afterStatus(int status, HttpHeaders head) {
        return RetryDecider.afterStatus(attempt(), status, head, now);
    }

    @Test
    void retriesAConfiguredStatusAfterTheBackoff() {
        retry503();

        assertRetried(afterStatus(503, NO_FIELDS), new Retry(BACKOFF.toNanos(), null, 503));
    }

    @Test
    void passesAnyOtherStatusOn() {
        retry503();

        assertNotRetried(afterStatus(502, NO_FIELDS));
    }

    @Test
    void passesEveryStatusOnWithoutAPolicy() {
        assertNotRetried(afterStatus(503, NO_FIELDS));
    }

    @Test
    void doublesTheBackoffAfterASecondAttempt() {
        retry503();
        attempts = 2;

        assertRetried(afterStatus(503, NO_FIELDS), new Retry(2 * BACKOFF.toNanos(), null, 503));
    }

    @Test
    void passesTheStatusOfTheLastAttemptOn() {
        retry503();
        attempts = 3;

        assertNotRetried(afterStatus(503, NO_FIELDS));
    }

    @Test
    void waitsForAsLongAsTheBackendWants() {
        retry503();

        assertRetried(afterStatus(503, retryAfter("1")), new Retry(1_000 * MILLIS, null, 503));
    }

    @Test
    void waitsForItsBackoffIfTheBackendWantsLess() {
        retry503();

        assertRetried(afterStatus(503, retryAfter("0")), new Retry(BACKOFF.toNanos(), null, 503));
    }

    /** A wish that no deadline fulfils costs no retry of the budget. */
    @ParameterizedTest
    @ValueSource(strings = {"2", "99999999999999999999", "Thu, 26 Nov 2026 04:00:00 GMT"})
    void passesTheAnswerOnIfTheBackendWantsToRestForTooLong(String wish) {
        retry503();

        assertNotRetried(afterStatus(503, retryAfter(wish)));
    }

    private static HttpHeaders retryAfter(String value) {
        return new DefaultHttpHeaders().set("retry-after", value);
    }

    @ParameterizedTest
    @CsvSource({"1, true", "0, false", "-1, false"})
    void retriesOnlyIfTheDeadlineIsLaterThanTheBackoff(long nanosLater, boolean isRetried) {
        retry503();
        elapsed = DEADLINE.minus(BACKOFF).toNanos() - nanosLater;

        Retry retry = afterStatus(503, NO_FIELDS);

        assertThat(retry != null).isEqualTo(isRetried);
        assertThat(budget.available()).isEqualTo(isRetried ? 1 : 2);
    }

    @Test
    void countsARetryThatTheBudgetDenies() {
        retry503();
        emptyBudget();

        assertThat(afterStatus(503, NO_FIELDS)).isNull();
        assertThat(counted).containsExactly(false);
    }

    @Test
    void leavesARetryToTheCallerWhoHasHadNone() {
        retry503();
        String greedy = fixture.caller.address;
        afterStatus(503, NO_FIELDS);
        afterStatus(503, NO_FIELDS);
        fixture.caller.address = "192.0.2.9";
        assertThat(afterStatus(503, NO_FIELDS)).as("of an empty budget").isNull();
        budget.deposit();

        fixture.caller.address = greedy;
        assertThat(afterStatus(503, NO_FIELDS)).isNull();

        fixture.caller.address = "192.0.2.9";
        assertThat(afterStatus(503, NO_FIELDS)).isNotNull();
    }

    /** The backend has answered, so it has received the request. */
    @ParameterizedTest
    @CsvSource({"GET, false, true", "PUT, false, true", "PUT, true, false", "POST, false, false", "PATCH, false, false"
    })
    void retriesAnAnswerOnlyOfARequestThatMayBeSentTwice(String method, boolean hasBody, boolean isRetried) {
        retry503();
        fixture.caller.method = HttpMethod.valueOf(method);
        fixture.caller.hasBody = hasBody;

        assertThat(afterStatus(503, NO_FIELDS) != null).isEqualTo(isRetried);
        assertThat(budget.available()).isEqualTo(isRetried ? 1 : 2);
    }

    // ---------------------------------------------------------------- a failure, with a policy

    @Test
    void retriesAFailureWithThePolicysBackoff() {
        retry503();

        assertRetried(RetryDecider.afterFailure(attempt(), LOST, false, now), new Retry(BACKOFF.toNanos(), LOST, 0));
    }

    @ParameterizedTest
    @CsvSource({"true, true", "false, false"})
    void retriesAFailedPostOnlyIfNothingOfItWasSent(boolean isUnsent, boolean isRetried) {
        retry503();
        fixture.caller.method = HttpMethod.POST;
        OneAttempt attempt = attempt();
        attempt.isUnsent = isUnsent;

        assertThat(RetryDecider.afterFailure(attempt, LOST, false, now) != null).isEqualTo(isRetried);
        assertThat(budget.available()).isEqualTo(isRetried ? 1 : 2);
    }

    /** The policy says how many attempts a call may have, and other instances do not change that. */
    @Test
    void aPolicyBoundsTheAttemptsOfARequestThatWasNotSent() {
        retry503();
        instances = instances(4);
        attempts = 3;
        OneAttempt attempt = attempt();
        attempt.isUnsent = true;

        assertNotRetried(RetryDecider.afterFailure(attempt, LOST, true, now));
    }

    @Test
    void retriesNoFailureAfterWhoseBackoffTheDeadlineHasPassed() {
        retry503();
        elapsed = DEADLINE.minus(BACKOFF).toNanos();

        assertNotRetried(RetryDecider.afterFailure(attempt(), LOST, false, now));
    }

    // ---------------------------------------------------------------- a failure, without a policy

    private @Nullable Retry afterFailure(Refuse failure, boolean isUnsent, boolean isWithdrawn) {
        OneAttempt attempt = attempt();
        attempt.isUnsent = isWithdrawn;
        return RetryDecider.afterFailure(attempt, failure, isUnsent, now);
    }

    @Test
    void retriesARequestThatWasNotSentOnceAtTheOnlyInstance() {
        assertRetried(afterFailure(LOST, true, true), new Retry(0, LOST, 0));

        attempts = 2;
        assertThat(afterFailure(LOST, true, true)).isNull();
        assertThat(budget.available()).isOne();
    }

    @ParameterizedTest
    @EnumSource(
            value = Reason.class,
            names = {"CONNECT_FAILED", "CONNECT_TIMEOUT", "CONNECTION_LOST"})
    void retriesNoFailureAtTheOnlyInstanceThatMayHaveTheRequest(Reason reason) {
        assertNotRetried(afterFailure(new Refuse(reason, null), false, true));
    }

    /** The failure says that nothing was sent, but a connection was established meanwhile. */
    @Test
    void doesNotRetryARequestThatIsSentMeanwhile() {
        assertNotRetried(afterFailure(LOST, true, false));
    }

    @ParameterizedTest
    @CsvSource({
        "CONNECT_FAILED, true, true",
        "CONNECT_TIMEOUT, true, true",
        "CONNECT_FAILED, false, false",
        "DEADLINE_EXCEEDED, true, false",
        "CIRCUIT_OPEN, true, false"
    })
    void retriesACallWithoutAConnectionAtAnotherInstance(Reason reason, boolean isWithdrawn, boolean isRetried) {
        instances = instances(2);
        fixture.caller.method = HttpMethod.POST;
        fixture.caller.hasBody = true;
        Refuse failure = new Refuse(reason, null);

        Retry retry = afterFailure(failure, false, isWithdrawn);

        if (isRetried) {
            assertRetried(retry, new Retry(0, failure, 0));
        } else {
            assertNotRetried(retry);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "GET, false, REQUEST, true",
        "DELETE, false, REQUEST, true",
        "POST, false, REQUEST, false",
        "PUT, true, REQUEST, false",
        "GET, false, STREAM, false"
    })
    void retriesALostCallAtAnotherInstanceOnlyIfItMayBeSentTwice(
            String method, boolean hasBody, Mode ofRoute, boolean isRetried) {
        instances = instances(2);
        fixture.caller.method = HttpMethod.valueOf(method);
        fixture.caller.hasBody = hasBody;
        mode = ofRoute;

        Retry retry = afterFailure(LOST, false, false);

        if (isRetried) {
            assertRetried(retry, new Retry(0, LOST, 0));
        } else {
            assertNotRetried(retry);
        }
    }

    @Test
    void retriesAsLongAsThereIsAnInstanceThatHasNotFailedTheCall() {
        instances = instances(3);
        attempts = 2;
        tried = new TriedInstances(instances.all().get(1).identity(), null);
        assertRetried(afterFailure(LOST, false, false), new Retry(0, LOST, 0));

        attempts = 3;
        tried = new TriedInstances(instances.all().get(2).identity(), tried);
        assertThat(afterFailure(LOST, false, false)).isNull();
        assertThat(afterFailure(LOST, true, true)).isNull();
        assertThat(budget.available()).isOne();
    }

    @Test
    void doesNotRetryAfterTheDeadlineWithoutAPolicy() {
        elapsed = DEADLINE.toNanos();
        assertNotRetried(afterFailure(LOST, true, true));

        elapsed--;
        assertRetried(afterFailure(LOST, true, true), new Retry(0, LOST, 0));
    }

    /** No policy asked for the retry. */
    @Test
    void doesNotCountADeniedRetryWithoutAPolicy() {
        emptyBudget();

        assertThat(afterFailure(LOST, true, true)).isNull();
        assertThat(counted).isEmpty();
    }

    // ---------------------------------------------------------------- GOAWAY

    private @Nullable Retry afterGoAway(boolean isWithdrawn) {
        OneAttempt attempt = attempt();
        attempt.isUnsent = isWithdrawn;
        return RetryDecider.afterGoAway(attempt, GONE, now);
    }

    @ParameterizedTest
    @CsvSource({"1, true", "3, true", "4, false"})
    void retriesACallThatUpToThreeGoAwaysInARowHaveRefused(int goAways, boolean isRetried) {
        fixture.caller.method = HttpMethod.POST;
        attempts = goAways;

        Retry retry = afterGoAway(true);

        if (isRetried) {
            assertRetried(retry, new Retry(0, GONE, 0));
        } else {
            assertNotRetried(retry);
        }
    }

    @Test
    void refusesACallThatAGoAwayHasNotKeptFromBeingSent() {
        assertNotRetried(afterGoAway(false));
    }

    @Test
    void refusesACallAfterAGoAwayIfItsDeadlineHasPassed() {
        elapsed = DEADLINE.toNanos();

        assertNotRetried(afterGoAway(true));
    }

    @Test
    void refusesACallAfterAGoAwayIfTheBudgetIsEmpty() {
        emptyBudget();

        assertThat(afterGoAway(true)).isNull();
        assertThat(counted).isEmpty();
    }

    // ---------------------------------------------------------------- an instance that opens

    @Test
    void retriesARepeatableCallWhoseInstanceOpensEvenIfItWasSent() {
        instances = instances(2);
        OneAttempt attempt = attempt();

        assertRetried(RetryDecider.afterEjection(attempt, now), new Retry(0, Refuse.CIRCUIT_OPEN, 0));
        assertThat(attempt.withdrawals).as("it may have been sent").isZero();
    }

    @ParameterizedTest
    @CsvSource({"POST, REQUEST", "GET, STREAM"})
    void retriesAnyOtherCallWhoseInstanceOpensIfItIsNotSent(String method, Mode ofRoute) {
        instances = instances(2);
        fixture.caller.method = HttpMethod.valueOf(method);
        mode = ofRoute;
        OneAttempt attempt = attempt();
        attempt.isUnsent = true;

        assertRetried(RetryDecider.afterEjection(attempt, now), new Retry(0, Refuse.CIRCUIT_OPEN, 0));
    }

    @ParameterizedTest
    @CsvSource({"POST, false, REQUEST", "PUT, true, REQUEST", "GET, false, STREAM"})
    void aCallThatCannotBeSentTwiceGoesOnWaitingAndReturnsItsRetry(String method, boolean hasBody, Mode ofRoute) {
        instances = instances(2);
        fixture.caller.method = HttpMethod.valueOf(method);
        fixture.caller.hasBody = hasBody;
        mode = ofRoute;

        assertNotRetried(RetryDecider.afterEjection(attempt(), now));
    }

    /** A withdrawn attempt is never sent, so a call that goes on waiting must not be withdrawn. */
    @ParameterizedTest
    @ValueSource(strings = {"answered", "probe", "only instance", "deadline", "budget"})
    void aCallThatGoesOnWaitingIsNotWithdrawn(String why) {
        instances = instances(why.equals("only instance") ? 1 : 2);
        fixture.caller.method = HttpMethod.POST;
        if (why.equals("deadline")) {
            elapsed = DEADLINE.toNanos();
        }
        if (why.equals("probe")) {
            probe = startProbe();
        }
        if (why.equals("budget")) {
            emptyBudget();
        }
        OneAttempt attempt = attempt();
        attempt.isUnsent = true;
        if (why.equals("answered")) {
            attempt.evidence().answered(now);
        }

        assertThat(RetryDecider.afterEjection(attempt, now)).isNull();

        assertThat(attempt.withdrawals).isZero();
        assertThat(budget.available()).isEqualTo(why.equals("budget") ? 0 : 2);
        assertThat(counted).isEmpty();
    }

    /** A probe of another backend, which is open. */
    private Probe startProbe() {
        Health open = TestHealth.of(settings, () -> now);
        open.resilience4j().transitionToOpenState();
        return Objects.requireNonNull(open.probes().tryStart(now + TimeUnit.SECONDS.toNanos(1), 0, true));
    }
}
