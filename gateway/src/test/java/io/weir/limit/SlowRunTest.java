package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SlowRunTest {

    private final SlowRun run = new SlowRun();

    @ParameterizedTest
    @CsvSource({
        // exponent of the latency, calls in flight at the first start, whether nothing queues
        "0, 1, true",
        "0.4, 1, true",
        "0.6, 1, false",
        "1, 1, false",
        "0, 5, false",
        "0, 8, false"
    })
    void callsThatFindFewAndManyOthersShowWhetherTheyQueue(double exponent, int first, boolean isAlike) {
        for (int inFlight = first; inFlight <= 8; inFlight++) {
            run.add(.1 * Math.pow(inFlight, exponent), inFlight);
        }
        run.add(.1 * Math.pow(8, exponent), 8);

        assertThat(run.isAlike()).isEqualTo(isAlike);
    }

    @ParameterizedTest
    @CsvSource({"7, 8, false", "8, 8, true", "8, 100, true", "2, 2, true", "1, 2, false"})
    void isLongFromEightAnswersOrAsManyAsTheLimit(int answers, int limit, boolean isLong) {
        for (int i = 0; i < answers; i++) {
            run.add(1, 1);
        }
        assertThat(run.isLong(limit)).isEqualTo(isLong);

        run.clear();

        assertThat(run.isLong(limit)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"4, 0.5, 8", "8, 0.25, 32"})
    void theRateIsThatOfLittlesLaw(int inFlight, double latency, double rate) {
        run.add(latency, inFlight);
        run.add(latency, inFlight);

        assertThat(run.meanLatency()).isEqualTo(latency);
        assertThat(run.rate()).isEqualTo(rate);
    }
}
