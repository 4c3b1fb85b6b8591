package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GatlingLoadTest {

    @ParameterizedTest
    @CsvSource({"weir: 120 requests planned, 117, 3", "weir: 120 requests planned, 121, 0", "nothing planned, 5, 0"})
    void countsPlannedRequestsThatWereNotSent(String output, long sent, long missing) {
        assertThat(GatlingLoad.missing("Gatling starts\n" + output + "\nweir: load begins 1\n", sent))
                .isEqualTo(missing);
    }
}
