package io.weir.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PushbackFieldTest {

    private static HttpHeaders grpc(String pushback) {
        return new DefaultHttpHeaders().set("grpc-status", "14").set("grpc-retry-pushback-ms", pushback);
    }

    /** -1: never. */
    @ParameterizedTest
    @CsvSource({"0, 0, 0", "1500, 1500, 1500", "-1, 0, -1", "soon, 0, -1", "'', 0, -1", "99999999999, 0, -1"})
    void readsThePushbackOfGrpc(String pushback, long millis, long millisToRetry) {
        assertThat(PushbackField.nanos(grpc(pushback))).isEqualTo(TimeUnit.MILLISECONDS.toNanos(millis));
        assertThat(PushbackField.nanosToRetry(grpc(pushback)))
                .isEqualTo(millisToRetry < 0 ? RetryAfterField.NEVER : TimeUnit.MILLISECONDS.toNanos(millisToRetry));
        assertThat(PushbackField.grpcStatus(grpc(pushback))).isEqualTo(millis > 0 ? "14" : null);
    }

    @Test
    void readsRetryAfter() {
        HttpHeaders head = new DefaultHttpHeaders().set("retry-after", "5");

        assertThat(PushbackField.nanos(head)).isEqualTo(TimeUnit.SECONDS.toNanos(5));
        assertThat(PushbackField.nanosToRetry(head)).isEqualTo(TimeUnit.SECONDS.toNanos(5));
        assertThat(PushbackField.grpcStatus(head)).isNull();
    }

    @Test
    void namesNoTimeWithoutTheFields() {
        assertThat(PushbackField.nanos(new DefaultHttpHeaders())).isZero();
        assertThat(PushbackField.nanosToRetry(new DefaultHttpHeaders())).isZero();
        assertThat(PushbackField.grpcStatus(new DefaultHttpHeaders().set("grpc-status", "14")))
                .isNull();
    }
}
