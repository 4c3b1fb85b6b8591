package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Iterator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SteadyRateTest {

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            4 | 100 200 300 310
            2 | 100 104 200
            4 | 0 0 100 100
            3 | 100 120 90
            5 | 100 200 300 400 500 600
            5 | 0 0 0 0 0 0
            """)
    void endsWithTheFirstRoundThatIsNotFasterByATwentieth(int expected, String rates) throws InterruptedException {
        Iterator<Double> next =
                Arrays.stream(rates.split(" ", -1)).map(Double::valueOf).iterator();

        assertThat(SteadyRate.reach(5, next::next)).isEqualTo(expected);
    }
}
