package io.weir.deadline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CallerTimeoutTest {

    private final HttpHeaders headers = new DefaultHttpHeaders();

    @ParameterizedTest
    @CsvSource({
        "x-request-timeout, 250ms, 250000000",
        "x-request-timeout, 2s, 2000000000",
        "x-request-timeout, 1, 1000000",
        "x-envoy-expected-rq-timeout-ms, 1500, 1500000000",
        "grpc-timeout, 1H, 3600000000000",
        "grpc-timeout, 2M, 120000000000",
        "grpc-timeout, 3S, 3000000000",
        "grpc-timeout, 250m, 250000000",
        "grpc-timeout, 99999999u, 99999999000",
        "grpc-timeout, 1n, 1"
    })
    void readsEachDialect(String name, String value, long nanos) {
        assertThat(CallerTimeout.read(headers.set(name, value))).isEqualTo(nanos);
    }

    @Test
    void returnsNoneWithoutAHeader() {
        assertThat(CallerTimeout.read(headers)).isEqualTo(CallerTimeout.NONE);
    }

    @Test
    void returnsTheSmallestOfSeveral() {
        headers.add("x-request-timeout", "2s").add("x-request-timeout", "900ms");
        headers.set("grpc-timeout", "1S").set("x-envoy-expected-rq-timeout-ms", "800");

        assertThat(CallerTimeout.read(headers)).isEqualTo(TimeUnit.MILLISECONDS.toNanos(800));
    }

    @ParameterizedTest
    @CsvSource({
        "x-request-timeout, 0",
        "x-request-timeout, 0ms",
        "x-request-timeout, -5ms",
        "x-request-timeout, ''",
        "x-request-timeout, ms",
        "x-request-timeout, 1.5s",
        "x-request-timeout, 5m",
        "x-request-timeout, 9999999999999ms",
        "x-request-timeout, '1ms,2ms'",
        "grpc-timeout, ''",
        "grpc-timeout, S",
        "grpc-timeout, 0S",
        "grpc-timeout, 100000000n",
        "grpc-timeout, 5",
        "grpc-timeout, 5s",
        "x-envoy-expected-rq-timeout-ms, 0",
        "x-envoy-expected-rq-timeout-ms, 250ms"
    })
    void rejectsMalformedZeroOrNegativeValues(String name, String value) {
        headers.set(name, value);

        assertThatThrownBy(() -> CallerTimeout.read(headers))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(name + ": " + value + " (expected: ")
                .hasMessageContaining("more than zero");
    }

    @Test
    void largestValuesDoNotOverflow() {
        assertThat(CallerTimeout.read(headers.set("grpc-timeout", "99999999H"))).isEqualTo(TimeUnit.DAYS.toNanos(1));
        assertThat(CallerTimeout.read(headers.set("x-request-timeout", "999999999999s")))
                .isPositive();
    }

    @Test
    void writesTheRemainingTimeInItsOwnAndTheCallersDialects() {
        headers.set("grpc-timeout", "5S").set("x-envoy-expected-rq-timeout-ms", "5000");

        CallerTimeout.write(headers, TimeUnit.MICROSECONDS.toNanos(1_200_500));

        assertThat(headers.get("x-request-timeout")).isEqualTo("1201ms");
        assertThat(headers.get("grpc-timeout")).isEqualTo("1200500u");
        assertThat(headers.get("x-envoy-expected-rq-timeout-ms")).isEqualTo("1201");
    }

    @Test
    void writesNoDialectThatTheCallerDidNotUse() {
        CallerTimeout.write(headers, 1);

        assertThat(headers.get("x-request-timeout")).isEqualTo("1ms");
        assertThat(headers.names()).containsExactly("x-request-timeout");
    }

    @ParameterizedTest
    @CsvSource({"1, 1n", "99999999, 99999999n", "100000000, 100000u", "100000000000, 100000m"})
    void writesGrpcTimeoutInEightDigits(long nanos, String expected) {
        headers.set("grpc-timeout", "1H");

        CallerTimeout.write(headers, nanos);

        assertThat(headers.get("grpc-timeout")).isEqualTo(expected);
        assertThat(CallerTimeout.read(new DefaultHttpHeaders().set("grpc-timeout", expected)))
                .isEqualTo(nanos);
    }
}
