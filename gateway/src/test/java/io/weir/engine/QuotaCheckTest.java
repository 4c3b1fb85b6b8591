package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import io.weir.testing.Leaks;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The rate limit of a route within an exchange. */
@ExtendWith(Leaks.class)
class QuotaCheckTest {

    @Test
    void refusesARequestOverTheQuotaBeforeBreakerPermitAndBody() {
        ExchangeFixture fixture = overQuota().withUpload();
        fixture.health.operator().forceOpen();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("rate-limited 429");
        Refusal refusal = Objects.requireNonNull(fixture.caller.refusal);
        // One permit a minute; the jitter of the fixture is a quarter, but at most 7.5 s.
        assertThat(refusal.retryAfterMillis()).isEqualTo(67_500);
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.probes).as("shadow probes").isEmpty();
        assertThat(fixture.limit.started).as("samples of the limit").isZero();
        fixture.assertEndedCleanly();
        fixture.health.operator().release();
    }

    @Test
    void isNoEvidenceAgainstTheBackend() {
        ExchangeFixture fixture = overQuota().start();

        assertThat(fixture.outcome()).isEqualTo("rate-limited 429");
        assertThat(fixture.health.resilience4j().getMetrics().getNumberOfBufferedCalls())
                .isZero();
        assertThat(fixture.observer.wouldRefuse).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void takesOnePermitForAllAttempts() {
        ExchangeFixture fixture = new ExchangeFixture().withRetry().withRateLimit(2, true);
        fixture.start();
        fixture.attempt().fails();
        fixture.advance(ExchangeFixture.BACKOFF.multipliedBy(2));

        assertThat(fixture.attempts).hasSize(2);
        assertThat(Objects.requireNonNull(fixture.record().quota()).remaining()).isEqualTo(1);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void takesNoPermitForACallerWhoLeftBeforeTheStart() {
        ExchangeFixture fixture = new ExchangeFixture().withRateLimit(1, true).create();
        fixture.exchange().callerLeft();
        fixture.start();

        assertThat(fixture.record().quota()).isNull();
        fixture.assertEndedCleanly();
    }

    @Test
    void takesNoPermitForARequestThatTheGatewayRefuses() {
        ExchangeFixture fixture = new ExchangeFixture().withRateLimit(1, true);
        fixture.drain.enter(io.weir.drain.Drain.Phase.REFUSING);
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("shutting-down 503");
        assertThat(fixture.record().quota()).isNull();
    }

    @Test
    void countsARefusalThatIsNotEnforced() {
        ExchangeFixture fixture = new ExchangeFixture().withRateLimit(1, false).useUpQuota();
        fixture.start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.observer.wouldRefuse).containsExactly(Reason.RATE_LIMITED);
        assertThat(fixture.record().quota()).as("told to the caller").isNull();
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void countsTheHandshakeOfAWebSocketAsOneRequest() {
        ExchangeFixture fixture =
                new ExchangeFixture().withWebSocket().withRateLimit(3, true).start();

        assertThat(Objects.requireNonNull(fixture.record().quota()).remaining()).isEqualTo(2);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    private static ExchangeFixture overQuota() {
        return new ExchangeFixture().withRateLimit(1, true).useUpQuota();
    }
}
