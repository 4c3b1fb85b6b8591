package io.weir.tracing;

import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.weir.edge.TraceParent;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * W3C's trace context as it goes to a backend: the gateway's {@code traceparent}, and the caller's {@code tracestate} if the
 * trace is the caller's.
 */
final class TraceContext implements Consumer<HttpHeaders> {

    private static final String TRACESTATE = "tracestate";
    private static final String VERSION = "00";

    private static final TextMapGetter<HttpHeaders> FIELDS = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(HttpHeaders headers) {
            return headers.names();
        }

        @Override
        public @Nullable String get(@Nullable HttpHeaders headers, String name) {
            // A list may come in several fields.
            return headers == null || !headers.contains(name) ? null : String.join(",", headers.getAll(name));
        }
    };

    private final String traceParent;
    private final boolean continued;

    TraceContext(SpanContext of, boolean continued) {
        this.traceParent = String.join(
                "-",
                VERSION,
                of.getTraceId(),
                of.getSpanId(),
                of.getTraceFlags().asHex());
        this.continued = continued;
    }

    /** The caller's; the root if it has sent none, or one that is not valid. */
    static Context of(HttpHeaders headers) {
        return TraceParent.traceId(headers) == null
                ? Context.root()
                : W3CTraceContextPropagator.getInstance().extract(Context.root(), headers, FIELDS);
    }

    /** Whether there is a parent in it. */
    static boolean isContinued(Context parent) {
        return Span.fromContext(parent).getSpanContext().isValid();
    }

    @Override
    public void accept(HttpHeaders toBackend) {
        toBackend.set(TraceParent.TRACEPARENT, traceParent);
        if (!continued) {
            toBackend.remove(TRACESTATE);
        }
    }
}
