package io.weir.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShareTest {

    @Test
    void sharesOfSevenAmongFourGatewaysAreTwoTwoTwoOne() {
        assertThat(permits(7, 4)).containsExactly(2, 2, 2, 1);
    }

    @ParameterizedTest(name = "{0} among {1} gateways")
    @CsvSource({"64, 1", "64, 2", "64, 3", "64, 63", "64, 64", "7, 4", "1, 1", "1000000, 7", "9, 8"})
    void sharesAddUpToTheLimit(int limit, int gateways) {
        assertThat(permits(limit, gateways).stream()
                        .mapToInt(permits -> permits)
                        .sum())
                .isEqualTo(limit);
        assertThat(permits(limit, gateways)).allMatch(permits -> permits >= limit / gateways);
    }

    @ParameterizedTest(name = "{0} among {1} gateways are {2} each")
    @CsvSource({
        "64, 1, 64, false",
        "64, 2, 32, false",
        "64, 3, 21, false",
        "64, 64, 1, false",
        "64, 65, 1, true",
        "1, 2, 1, true",
        "1000000, 7, 142857, false"
    })
    void isRoundedDownToAtLeastOneWithoutARank(int limit, int gateways, int permits, boolean isFloored) {
        assertThat(Share.of(limit, Membership.ofUnknownRank(gateways))).isEqualTo(new Share(permits, isFloored));
    }

    @Test
    void isFlooredIfMoreGatewaysThanPermitsShareTheLimit() {
        assertThat(Share.of(2, new Membership(3, 0))).isEqualTo(new Share(1, false));
        assertThat(Share.of(2, new Membership(3, 2))).isEqualTo(new Share(1, true));
    }

    @Test
    void isTheWholeLimitOfAGatewayAlone() {
        assertThat(Share.of(64, Membership.ALONE)).isEqualTo(new Share(64, false));
    }

    private static List<Integer> permits(int limit, int gateways) {
        return IntStream.range(0, gateways)
                .mapToObj(
                        rank -> Share.of(limit, new Membership(gateways, rank)).permits())
                .toList();
    }
}
