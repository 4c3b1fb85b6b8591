package io.weir.limit;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.limit.LimitCases.Case;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The cases beside the grid, in virtual time: three runs each; five, and the heavy cases, with the full grid.
 */
class LimitCasesTest {

    static Stream<Case> cases() {
        return LimitCases.all().stream().filter(each -> LimitGrid.isFull() || !each.heavy());
    }

    @ParameterizedTest
    @MethodSource("cases")
    void holdsItsBound(Case each) {
        List<Long> seeds = LimitCases.SEEDS.subList(0, LimitGrid.isFull() ? 5 : 3);

        double measured = each.median(seeds);

        System.out.printf(
                "%-55s %.4f (wanted %s %s)%n", each, measured, each.atMost() ? "at most" : "at least", each.wanted());
        if (each.atMost()) {
            assertThat(measured).isLessThanOrEqualTo(each.bound());
        } else {
            assertThat(measured).isGreaterThanOrEqualTo(each.bound());
        }
    }
}
