package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TraceParentTest {

    private static final String TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

    @ParameterizedTest
    @ValueSource(
            strings = {
                "00-" + TRACE + "-00f067aa0ba902b7-01",
                "00-" + TRACE + "-00f067aa0ba902b7-00",
                "01-" + TRACE + "-00f067aa0ba902b7-01",
                "cc-" + TRACE + "-00f067aa0ba902b7-01-what-the-future-brings",
            })
    void readsTheTraceId(String value) {
        assertThat(TraceParent.traceId(new DefaultHttpHeaders().add("traceparent", value)))
                .isEqualTo(TRACE);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "00",
                "ff-" + TRACE + "-00f067aa0ba902b7-01",
                "0g-" + TRACE + "-00f067aa0ba902b7-01",
                "00-" + TRACE + "-00f067aa0ba902b7-01-more",
                "01-" + TRACE + "-00f067aa0ba902b7-01more",
                "00-" + TRACE + "-00f067aa0ba902b7-0",
                "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                "00-" + TRACE + "-0000000000000000-01",
                "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                "00_" + TRACE + "_00f067aa0ba902b7_01",
            })
    void ignoresAnInvalidField(String value) {
        assertThat(TraceParent.traceId(new DefaultHttpHeaders().add("traceparent", value)))
                .isNull();
    }

    @Test
    void ignoresAMissingOrRepeatedField() {
        String value = "00-" + TRACE + "-00f067aa0ba902b7-01";

        assertThat(TraceParent.traceId(new DefaultHttpHeaders())).isNull();
        assertThat(TraceParent.traceId(
                        new DefaultHttpHeaders().add("traceparent", value).add("traceparent", value)))
                .isNull();
    }
}
