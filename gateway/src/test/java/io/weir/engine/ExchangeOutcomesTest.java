package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.fallback.Fallback;
import io.weir.fallback.FallbackProperties;
import io.weir.outcome.Reason;
import io.weir.testing.ObservedGateway;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ExchangeOutcomesTest {

    private static final Fallback STATIC = fallback();
    private static final Replacement BY_STATIC = Replacement.byStaticAnswer(Reason.CIRCUIT_OPEN);
    private static final Replacement BY_OTHER_BACKEND = Replacement.byOtherBackend(Reason.CIRCUIT_OPEN);

    @ParameterizedTest
    @EnumSource(Reason.class)
    void isTheWordOfTheReasonIfTheGatewayAnswered(Reason reason) {
        assertThat(outcome(null, reason, reason.status().code())).isEqualTo(reason.word());
    }

    @ParameterizedTest
    @CsvSource({
        "101, 1xx",
        "200, 2xx",
        "304, 3xx",
        "404, 4xx",
        "503, 5xx",
        "599, 5xx",
        "600, other",
        "999, other",
        "0, other"
    })
    void isTheClassOfTheBackendsStatusIfTheBackendAnswered(int status, String expected) {
        assertThat(outcome(null, null, status)).isEqualTo(expected);
    }

    @Test
    void isFallbackIfTheStaticFallbackAnswered() {
        assertThat(outcome(BY_STATIC, Reason.CIRCUIT_OPEN, 200)).isEqualTo("fallback");
    }

    @Test
    void isFallbackIfTheFallbackBackendAnswered() {
        assertThat(outcome(BY_OTHER_BACKEND, null, 404)).isEqualTo("fallback");
    }

    @Test
    void isTheReasonOfTheRefusalIfTheFallbackBackendRefusedToo() {
        assertThat(outcome(BY_OTHER_BACKEND, Reason.CIRCUIT_OPEN, 503)).isEqualTo("circuit-open");
    }

    @Test
    void isClientClosedIfTheCallerLeftBeforeItReceivedTheFallback() {
        assertThat(outcome(BY_STATIC, Reason.CLIENT_CLOSED, 499)).isEqualTo("client-closed");
        assertThat(outcome(BY_OTHER_BACKEND, Reason.CLIENT_CLOSED, 499)).isEqualTo("client-closed");
    }

    @Test
    void isTheReasonThatBrokeOffTheFallbackBackendsAnswer() {
        assertThat(outcome(BY_OTHER_BACKEND, Reason.CONNECTION_LOST, 200)).isEqualTo("connection-lost");
    }

    @Test
    void isFallbackIfTheLastGoodAnswerReplacedARefusalOrAFailureStatus() {
        assertThat(outcome(Replacement.byLastGood(Reason.CIRCUIT_OPEN, 7), Reason.CIRCUIT_OPEN, 200))
                .isEqualTo("fallback");
        assertThat(outcome(Replacement.byLastGood(null, 0), null, 304)).isEqualTo("fallback");
        assertThat(outcome(Replacement.byLastGood(null, 0), Reason.CLIENT_CLOSED, 499))
                .isEqualTo("client-closed");
    }

    @Test
    void isFallbackForAnExchangeWithAStaticFallback() {
        try (ObservedGateway fixture = new ObservedGateway()) {
            ExchangeRecord[] ended = new ExchangeRecord[1];
            Exchange exchange = fixture.refused(
                    fixture.route(fixture.backend(BackendObserver.NONE), STATIC, over -> ended[0] = over),
                    ObservedGateway.caller(),
                    Duration.ZERO);
            exchange.flushed();

            assertThat(ended[0]).isSameAs(exchange.record());
            assertThat(exchange.record().reason()).isEqualTo(Reason.BULKHEAD_FULL);
            assertThat(ExchangeOutcomes.of(exchange.record())).isEqualTo("fallback");
        }
    }

    @Test
    void wordsAreABoundedListWithoutDuplicates() {
        assertThat(ExchangeOutcomes.words())
                .doesNotHaveDuplicates()
                .hasSize(Reason.values().length + 7)
                .allMatch(word -> word.matches("[a-z0-9-]+"));
    }

    private static String outcome(@Nullable Replacement replacement, @Nullable Reason reason, int status) {
        return ExchangeOutcomes.words().get(ExchangeOutcomes.index(reason, replacement, status));
    }

    private static Fallback fallback() {
        return new Fallback(new FallbackProperties(
                null,
                200,
                "application/json",
                "{}",
                Map.of(),
                Set.of(Reason.CIRCUIT_OPEN, Reason.BULKHEAD_FULL, Reason.CONNECTION_LOST),
                4));
    }
}
