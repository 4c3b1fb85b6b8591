package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.outcome.Reason;
import io.weir.testing.Leaks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A route that only some callers may use, within an exchange. */
@ExtendWith(Leaks.class)
class ForbiddenCallerTest {

    @Test
    void isRefusedBeforeQuotaBreakerPermitAndBody() {
        ExchangeFixture fixture = new ExchangeFixture()
                .withAllowedNetworks("198.51.100.0/24")
                .withRateLimit(1, true)
                .withUpload();
        fixture.health.operator().forceOpen();

        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("forbidden 403");
        assertThat(fixture.record().quota()).as("permit of the quota").isNull();
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.probes).as("shadow probes").isEmpty();
        assertThat(fixture.limit.started).as("samples of the limit").isZero();
        assertThat(fixture.observer.wouldRefuse).isEmpty();
        fixture.assertEndedCleanly();
        fixture.health.operator().release();
    }

    @Test
    void isNoEvidenceAgainstTheBackend() {
        ExchangeFixture fixture =
                new ExchangeFixture().withAllowedNetworks("198.51.100.0/24").start();

        assertThat(fixture.outcome()).isEqualTo("forbidden 403");
        assertThat(fixture.health.resilience4j().getMetrics().getNumberOfBufferedCalls())
                .isZero();
        fixture.assertEndedCleanly();
    }

    @Test
    void isServedAndCountedInADryRun() {
        ExchangeFixture fixture = new ExchangeFixture();
        fixture.isAccessEnforced = false;

        fixture.withAllowedNetworks("198.51.100.0/24").start();

        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.observer.wouldRefuse).containsExactly(Reason.FORBIDDEN);
        fixture.finish();
        fixture.assertEndedCleanly();
    }

    @Test
    void otherCallersAreServed() {
        ExchangeFixture fixture =
                new ExchangeFixture().withAllowedNetworks("0.0.0.0/0").start();

        assertThat(fixture.attempts).hasSize(1);
        fixture.finish();
        fixture.assertEndedCleanly();
    }
}
