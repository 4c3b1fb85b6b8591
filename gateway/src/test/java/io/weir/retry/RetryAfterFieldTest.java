package io.weir.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RetryAfterFieldTest {

    private static final String DATE = "Sun, 06 Nov 1994 08:49:37 GMT";

    @ParameterizedTest
    @CsvSource({"0, 0", "2, 2", "'', 0", "soon, 0", "-1, 0", "1.5, 0"})
    void readsSeconds(String field, long seconds) {
        assertThat(nanos(field, null)).isEqualTo(TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void isNeverForMoreSecondsThanALongHas() {
        assertThat(nanos("99999999999999999999", null)).isEqualTo(RetryAfterField.NEVER);
        assertThat(nanos("9999999999999999", null)).isEqualTo(RetryAfterField.NEVER);
    }

    @Test
    void comparesADateWithTheDateOfTheAnswer() {
        assertThat(nanos("Sun, 06 Nov 1994 08:49:40 GMT", DATE)).isEqualTo(TimeUnit.SECONDS.toNanos(3));
        assertThat(nanos("Sun, 06 Nov 1994 08:49:30 GMT", DATE)).isZero();
    }

    @Test
    void isNeverForADateWithoutADateOfTheAnswer() {
        assertThat(nanos(DATE, null)).isEqualTo(RetryAfterField.NEVER);
        assertThat(nanos(DATE, "yesterday")).isEqualTo(RetryAfterField.NEVER);
    }

    @Test
    void isZeroWithoutTheField() {
        assertThat(RetryAfterField.nanos(new DefaultHttpHeaders())).isZero();
    }

    private static long nanos(String field, @Nullable String date) {
        DefaultHttpHeaders head = new DefaultHttpHeaders();
        head.set(HttpHeaderNames.RETRY_AFTER, field);
        if (date != null) {
            head.set(HttpHeaderNames.DATE, date);
        }
        return RetryAfterField.nanos(head);
    }
}
