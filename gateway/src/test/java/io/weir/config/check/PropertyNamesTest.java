package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PropertyNamesTest {

    private static final List<String> KNOWN = List.of(
            "uri",
            "deadline",
            "bulkhead",
            "max-streams",
            "stream-idle-timeout",
            "circuit-breaker",
            "max-wait-duration");

    @ParameterizedTest
    @CsvSource({
        "deadlin, deadline",
        "daedline, deadline",
        "deadLine, deadline",
        "url, uri",
        "circuitbraker, circuit-breaker",
        "circuit_breaker_, circuit-breaker",
        "max-wait, max-wait-duration",
        "idle-timeout, stream-idle-timeout",
        "maxstream, max-streams"
    })
    void suggestsTheMostSimilarName(String written, String nearest) {
        assertThat(PropertyNames.nearest(written, KNOWN)).isEqualTo(nearest);
    }

    @ParameterizedTest
    @CsvSource({"colour", "x", "timeouts-of-mine"})
    void suggestsNoDissimilarName(String written) {
        assertThat(PropertyNames.nearest(written, KNOWN)).isNull();
    }

    @ParameterizedTest
    @CsvSource({"abc, abc, 0", "abc, abd, 1", "abc, acb, 1", "abc, ab, 1", "'', abc, 3", "ca, abc, 3"})
    void countsEdits(String a, String b, int distance) {
        assertThat(PropertyNames.editDistance(a, b)).isEqualTo(distance);
        assertThat(PropertyNames.editDistance(b, a)).isEqualTo(distance);
    }

    @Test
    void convertsToKebabCase() {
        assertThat(PropertyNames.kebabCase("maxWaitDurationInHalfOpenState"))
                .isEqualTo("max-wait-duration-in-half-open-state");
    }
}
