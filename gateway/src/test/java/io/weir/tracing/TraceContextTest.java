package io.weir.tracing;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import java.util.List;
import org.junit.jupiter.api.Test;

class TraceContextTest {

    private static final String TRACE = "0af7651916cd43dd8448eb211c80319c";
    private static final String CALLER = "b7ad6b7169203331";
    private static final String GATEWAY = "00f067aa0ba902b7";

    private final HttpHeaders headers = new DefaultHttpHeaders();

    @Test
    void readsTheCallersContext() {
        headers.set("traceparent", "00-" + TRACE + "-" + CALLER + "-01");
        headers.add("tracestate", "one=1").add("tracestate", "two=2");

        SpanContext read = Span.fromContext(TraceContext.extract(headers)).getSpanContext();

        assertThat(read.getTraceId()).isEqualTo(TRACE);
        assertThat(read.getSpanId()).isEqualTo(CALLER);
        assertThat(read.isSampled()).isTrue();
        assertThat(read.isRemote()).isTrue();
        assertThat(read.getTraceState().get("one")).isEqualTo("1");
        assertThat(read.getTraceState().get("two")).isEqualTo("2");
    }

    @Test
    void hasNoParentWithoutAValidTraceParent() {
        assertThat(TraceContext.extract(headers)).isSameAs(Context.root());

        headers.set("traceparent", "00-" + TRACE + "-" + CALLER);
        assertThat(TraceContext.hasParent(TraceContext.extract(headers))).isFalse();

        String valid = "00-" + TRACE + "-" + CALLER + "-01";
        headers.set("traceparent", List.of(valid, valid));
        assertThat(TraceContext.hasParent(TraceContext.extract(headers))).isFalse();

        headers.set("traceparent", valid);
        assertThat(TraceContext.hasParent(TraceContext.extract(headers))).isTrue();
    }

    @Test
    void replacesTheCallersTraceParent() {
        headers.set("traceparent", "00-" + TRACE + "-" + CALLER + "-01");
        headers.add("tracestate", "one=1").add("tracestate", "two=2");

        new TraceContext(gateway(TraceFlags.getSampled()), true).accept(headers);

        assertThat(headers.getAll("traceparent")).containsExactly("00-" + TRACE + "-" + GATEWAY + "-01");
        assertThat(headers.getAll("tracestate")).containsExactly("one=1", "two=2");
    }

    @Test
    void removesTheCallersTraceStateFromAnotherTrace() {
        headers.set("tracestate", "one=1");

        new TraceContext(gateway(TraceFlags.getDefault()), false).accept(headers);

        assertThat(headers.get("traceparent")).isEqualTo("00-" + TRACE + "-" + GATEWAY + "-00");
        assertThat(headers.contains("tracestate")).isFalse();
    }

    private static SpanContext gateway(TraceFlags flags) {
        return SpanContext.create(TRACE, GATEWAY, flags, TraceState.getDefault());
    }
}
