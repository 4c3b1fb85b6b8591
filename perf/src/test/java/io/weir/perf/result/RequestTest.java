package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RequestTest {

    @Test
    void percentileIsTheSmallestLatencyThatThePercentageDoesNotExceed() {
        List<Request> hundred = IntStream.rangeClosed(1, 100)
                .mapToObj(i -> new Request("", i, 1000L * i, "caller", Request.SUCCESS))
                .toList();

        assertThat(Request.percentile(hundred, 99)).isEqualTo(99);
        assertThat(Request.percentile(hundred, 50)).isEqualTo(50);
        assertThat(Request.percentile(hundred, 100)).isEqualTo(100);
        assertThat(Request.percentile(hundred.subList(0, 1), 99)).isEqualTo(1);
        assertThat(Request.percentile(List.of(), 99)).isZero();
    }

    @Test
    void medianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle() {
        assertThat(Latencies.median(List.of(4.0, 1.0))).isEqualTo(2.5);
        assertThat(Latencies.median(List.of(4.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Latencies.median(List.of(4.0))).isEqualTo(4);
        assertThat(Latencies.median(List.of(3.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Latencies.median(List.of(4.0, 1.0, 2.0, 3.0))).isEqualTo(2.5);
    }
}
