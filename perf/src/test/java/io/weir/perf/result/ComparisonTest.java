package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.result.RunResult.Fact;
import java.util.List;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;

class ComparisonTest {

    @Test
    void comparesTheSameFigureOfAllProducts() {
        Comparison comparison = Comparison.of(
                "one,other,third",
                List.of(
                        new Fact("other.rate.p50", 2, "ms"),
                        new Fact("one.rate.p50", 1, "ms"),
                        new Fact("third.memory", 5, "MB"),
                        new Fact("generator.one.cores", 7, "cores"),
                        new Fact("seed", 9, "")));

        assertThat(comparison.products()).containsExactly("one", "other", "third");
        assertThat(comparison.rows())
                .containsExactly(
                        new Comparison.ComparedFigure(
                                "rate.p50",
                                "ms",
                                List.of(OptionalDouble.of(1), OptionalDouble.of(2), OptionalDouble.empty())),
                        new Comparison.ComparedFigure(
                                "memory",
                                "MB",
                                List.of(OptionalDouble.empty(), OptionalDouble.empty(), OptionalDouble.of(5))));
        assertThat(comparison.contains("one.rate.p50")).isTrue();
        assertThat(comparison.contains("generator.one.cores")).isFalse();
    }

    @Test
    void isEmptyWithoutProducts() {
        assertThat(Comparison.of("", List.of(new Fact("one.rate", 1, ""))).rows())
                .isEmpty();
    }
}
