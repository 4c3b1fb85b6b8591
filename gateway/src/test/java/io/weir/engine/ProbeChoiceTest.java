package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.health.ProbeMode;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that an open breaker refuses, and the probes that follow from them. */
class ProbeChoiceTest {

    private static final Duration INTERVAL = Duration.ofMillis(200);

    private final ExchangeFixture fixture = new ExchangeFixture();

    private void openAndWait(Duration time) {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.advance(time);
    }

    @ParameterizedTest
    @ValueSource(strings = {"GET", "HEAD"})
    void refusesTheCallerAndSendsACopy(String method) {
        openAndWait(INTERVAL);
        fixture.caller.method = HttpMethod.valueOf(method);
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.attempts).isEmpty();
        assertThat(fixture.probes).hasSize(1);
        assertThat(fixture.probes.getFirst().method()).isEqualTo(HttpMethod.valueOf(method));
        assertThat(fixture.probes.getFirst().head().get("weir-probe")).isEqualTo("shadow");
        fixture.health.probes().answered(Objects.requireNonNull(fixture.lastProbe), fixture.now());
        assertThat(fixture.health.state()).isEqualTo(State.HALF_OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void sendsNoCopyBeforeAProbeIsDue() {
        openAndWait(INTERVAL.minusMillis(1));
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.probes).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void copiesNoRequestWithABody() {
        openAndWait(INTERVAL);
        fixture.withRequestBody().start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.probes).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void copiesNoStream() {
        openAndWait(INTERVAL);
        fixture.withStreamRoute().start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.probes).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void copiesNoHandshake() {
        openAndWait(INTERVAL);
        fixture.withWebSocket().start();

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.probes).isEmpty();
        fixture.assertEndedCleanly();
    }

    @Test
    void usesARequestAsTheProbeAfterTwoIntervalsAndRefusesItAfterTheStallTime() {
        openAndWait(INTERVAL.multipliedBy(2));
        fixture.withRequestBody().start();
        assertThat(fixture.attempts).hasSize(1);
        assertThat(fixture.bulkhead.inUse()).as("outside the limit").isZero();
        fixture.attempt().connects();
        fixture.advance(ExchangeFixture.STALL.minusMillis(20));
        assertThat(fixture.ended).isEmpty();

        fixture.advance(Duration.ofMillis(20));

        assertThat(fixture.outcome()).isEqualTo("circuit-open 503");
        assertThat(fixture.health.state()).isEqualTo(State.OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void servesARequestThatIsTheProbeIfTheBackendAnswers() {
        openAndWait(INTERVAL.multipliedBy(2));
        fixture.withRequestBody().start();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.health.state()).isEqualTo(State.HALF_OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void freesThePlaceOfAProbeWhoseCallerLeaves() {
        openAndWait(INTERVAL.multipliedBy(2));
        fixture.withRequestBody().start();
        fixture.exchange().callerLeft();

        assertThat(fixture.health.probes().underWay()).isZero();
        assertThat(fixture.health.state()).isEqualTo(State.OPEN);
        fixture.assertEndedCleanly();
    }

    @Test
    void freesThePlaceOfAProbeThatIsTooLateForItsDeadline() {
        fixture.health.resilience4j().transitionToOpenState();
        fixture.withRequestBody().create();
        fixture.advance(ExchangeFixture.DEADLINE);
        fixture.start();

        assertThat(fixture.outcome()).isEqualTo("deadline-exceeded 504");
        assertThat(fixture.health.probes().underWay()).isZero();
        fixture.assertEndedCleanly();
    }

    @Test
    void usesARequestAsTheProbeIfItsRouteSaysSo() {
        openAndWait(INTERVAL);
        fixture.withProbes(ProbeMode.CALLER).start();
        assertThat(fixture.probes).isEmpty();
        fixture.finish();

        assertThat(fixture.outcome()).isEqualTo("200");
        assertThat(fixture.health.state()).isEqualTo(State.HALF_OPEN);
        fixture.assertEndedCleanly();
    }
}
