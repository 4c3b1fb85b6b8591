package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StacksTest {

    @ParameterizedTest
    @CsvSource({
        "4:10 200:20 500:20, 4:5 200:25 500:30, 200",
        "4:10 200:20 500:20, 4:5 200:15 500:30, 500",
        "4:10 200:20 500:20, 4:5 200:25 500:10, 0",
        "4:10 200:20 500:20, 4:11 200:15 500:30, 500",
        "4:10 200:20 500:20, 4:20 200:25 500:30, 0",
        "4:10 200:20 500:20, 4:10 200:20 500:20, 0"
    })
    void crossingIsWhereTheSecondServesMoreFromThenOn(String first, String second, int crossing) {
        assertThat(Stacks.crossing(served(first), served(second))).isEqualTo(crossing);
    }

    private static Map<Integer, Long> served(String text) {
        Map<Integer, Long> served = new TreeMap<>();
        Stream.of(text.split(" ", -1))
                .map(word -> word.split(":", -1))
                .forEach(words -> served.put(Integer.parseInt(words[0]), Long.parseLong(words[1])));
        return served;
    }
}
