package io.weir.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FaultOrderTest {

    private static final FaultScope ORDERS = new FaultScope(null, "orders", null);

    private static FaultOrder order(
            FaultType type, double percent, @Nullable Duration latency, int status, long afterBytes) {
        return new FaultOrder(ORDERS, type, percent, null, null, latency, status, afterBytes, Duration.ofSeconds(30));
    }

    @Test
    void saysWhatItDoes() {
        assertThat(order(FaultType.HANG, 50, null, 0, 0).description())
                .isEqualTo("hang of 50 % of the calls of backend orders");
        assertThat(order(FaultType.LATENCY, 0.5, Duration.ofMillis(1500), 0, 0).description())
                .isEqualTo("latency of 1500ms for 0.5 % of the calls of backend orders");
        assertThat(order(FaultType.ABORT, 100, null, 503, 0).description())
                .isEqualTo("abort with 503 of 100 % of the calls of backend orders");
        assertThat(order(FaultType.TRUNCATE, 100, null, 0, 10).description())
                .isEqualTo("truncate after 10 bytes of 100 % of the calls of backend orders");
        assertThat(new FaultOrder(
                                new FaultScope(null, "orders", "http://10.0.0.1:80"),
                                FaultType.RESET,
                                100,
                                "x-chaos",
                                "1",
                                null,
                                0,
                                0,
                                Duration.ofSeconds(1))
                        .description())
                .isEqualTo("reset of 100 % of the calls of instance http://10.0.0.1:80 of backend orders with"
                        + " x-chaos: 1");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, -1, 100.5, Double.NaN})
    void refusesAShareThatIsNone(double percent) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> order(FaultType.HANG, percent, null, 0, 0))
                .withMessage("percent: " + percent + " (expected: > 0 and <= 100)");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    LATENCY  |      | 0   | 0  | latency: missing (expected: > 0 and <= 1h)
                    LATENCY  | PT0S | 0   | 0  | latency: 0s (expected: > 0 and <= 1h)
                    LATENCY  | PT2H | 0   | 0  | latency: 7200s (expected: > 0 and <= 1h)
                    HANG     | PT1S | 0   | 0  | latency: 1s (expected: only for the fault latency)
                    ABORT    |      | 0   | 0  | status: 0 (expected: 400 to 599)
                    ABORT    |      | 399 | 0  | status: 399 (expected: 400 to 599)
                    ABORT    |      | 600 | 0  | status: 600 (expected: 400 to 599)
                    RESET    |      | 503 | 0  | status: 503 (expected: only for the fault abort)
                    TRUNCATE |      | 0   | -1 | after-bytes: -1 (expected: >= 0, only for the fault truncate)
                    HANG     |      | 0   | 7  | after-bytes: 7 (expected: >= 0, only for the fault truncate)
                    """)
    void refusesValuesThatTheFaultDoesNotTake(
            FaultType type, @Nullable Duration latency, int status, long afterBytes, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> order(type, 100, latency, status, afterBytes))
                .withMessage(message);
    }

    @Test
    void refusesAScopeThatIsNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new FaultScope(null, null, null))
                .withMessage("route, backend: null, null (expected: one of them)");
        assertThatIllegalArgumentException().isThrownBy(() -> new FaultScope("a", "b", null));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new FaultScope("a", null, "http://10.0.0.1:80"))
                .withMessage("instance: http://10.0.0.1:80 (expected: together with its backend)");
    }

    @Test
    void refusesAValueWithoutItsHeader() {
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> new FaultOrder(ORDERS, FaultType.HANG, 100, null, "1", null, 0, 0, Duration.ofSeconds(1)))
                .withMessage("value: 1 (expected: together with header)");
    }

    @Test
    void findsATypeByItsWord() {
        for (FaultType type : FaultType.values()) {
            assertThat(FaultType.of(type.word())).isSameAs(type);
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> FaultType.of("delay"))
                .withMessage("fault: delay (expected: one of latency, abort, hang, reset, truncate)");
    }
}
