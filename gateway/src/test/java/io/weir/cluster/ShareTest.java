package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShareTest {

    @ParameterizedTest(name = "{0} among {1} gateways are {2} each")
    @CsvSource({
        "64, 1, 64, false",
        "64, 2, 32, false",
        "64, 3, 21, false",
        "64, 64, 1, false",
        "64, 65, 1, true",
        "1, 1, 1, false",
        "1, 2, 1, true",
        "64, 0, 64, false",
        "1000000, 7, 142857, false"
    })
    void isRoundedDownToAtLeastOne(int limit, int gateways, int permits, boolean isFloored) {
        assertThat(Share.of(limit, gateways)).isEqualTo(new Share(permits, isFloored));
    }

    @ParameterizedTest(name = "{0} gateways")
    @CsvSource({"1", "2", "3", "7", "63", "64"})
    void sharesDoNotExceedTheLimit(int gateways) {
        assertThat(Share.of(64, gateways).permits() * gateways).isLessThanOrEqualTo(64);
    }
}
