package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GatlingTest {

    @ParameterizedTest
    @CsvSource({"weir: 120 requests planned, 117, 3", "weir: 120 requests planned, 121, 0", "nothing planned, 5, 0"})
    void missesWhatWasPlannedAndNotSent(String said, long sent, long missing) {
        assertThat(Gatling.missing("Gatling starts\n" + said + "\nweir: load begins 1\n", sent))
                .isEqualTo(missing);
    }
}
