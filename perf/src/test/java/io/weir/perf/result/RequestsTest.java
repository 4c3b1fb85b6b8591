package io.weir.perf.result;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RequestsTest {

    @Test
    void percentileIsTheSmallestLatencyThatThePercentageDoesNotExceed() {
        Requests hundred = new Requests(IntStream.rangeClosed(1, 100)
                .mapToObj(i -> new Request("", i, 1000L * i, "caller", Request.SUCCESS))
                .toList());

        assertThat(hundred.percentile(99)).isEqualTo(99);
        assertThat(hundred.percentile(50)).isEqualTo(50);
        assertThat(hundred.percentile(100)).isEqualTo(100);
        assertThat(new Requests(hundred.all().subList(0, 1)).percentile(99)).isEqualTo(1);
        assertThat(new Requests(List.of()).percentile(99)).isNaN();
    }

    @Test
    void medianIsTheMiddleOrTheMeanOfTheTwoInTheMiddle() {
        assertThat(Requests.median(List.of(4.0, 1.0))).isEqualTo(2.5);
        assertThat(Requests.median(List.of(4.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Requests.median(List.of(4.0))).isEqualTo(4);
        assertThat(Requests.median(List.of(3.0, 1.0, 2.0))).isEqualTo(2);
        assertThat(Requests.median(List.of(4.0, 1.0, 2.0, 3.0))).isEqualTo(2.5);
    }
}
