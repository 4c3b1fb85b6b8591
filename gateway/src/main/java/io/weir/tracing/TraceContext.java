package io.weir.tracing;

import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapSetter;
import io.weir.edge.TraceParent;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The W3C trace context of a request: read from the caller's headers, and written to the headers for a
 * backend.
 *
 * <p>A backend gets the gateway's {@code traceparent}. The caller's {@code tracestate} is passed on unchanged
 * if the caller started the trace; otherwise it is removed.
 */
final class TraceContext implements Consumer<HttpHeaders> {

    private static final String TRACESTATE = "tracestate";

    private static final TextMapGetter<HttpHeaders> GETTER = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(HttpHeaders headers) {
            return headers.names();
        }

        @Override
        public @Nullable String get(@Nullable HttpHeaders headers, String name) {
            // The list in tracestate may be split over several header fields.
            return headers == null || !headers.contains(name) ? null : String.join(",", headers.getAll(name));
        }
    };

    /**
     * Writes `traceparent` only; the headers already have the caller's `tracestate`, as the caller wrote it.
     */
    private static final TextMapSetter<HttpHeaders> SETTER = (headers, name, value) -> {
        if (headers != null && !name.equals(TRACESTATE)) {
            headers.set(name, value);
        }
    };

    private final Context context;
    private final boolean isContinued;

    /**
     * The context for a backend.
     *
     * @param span the span that is the parent of the backend's spans
     * @param isContinued whether the caller started the trace
     */
    TraceContext(SpanContext span, boolean isContinued) {
        this.context = Context.root().with(Span.wrap(span));
        this.isContinued = isContinued;
    }

    /** The caller's context; the root context if the caller sent none, or an invalid one. */
    static Context extract(HttpHeaders headers) {
        return TraceParent.traceId(headers) == null
                ? Context.root()
                : W3CTraceContextPropagator.getInstance().extract(Context.root(), headers, GETTER);
    }

    /** Whether a context has a parent span. */
    static boolean hasParent(Context context) {
        return Span.fromContext(context).getSpanContext().isValid();
    }

    @Override
    public void accept(HttpHeaders toBackend) {
        W3CTraceContextPropagator.getInstance().inject(context, toBackend, SETTER);
        if (!isContinued) {
            toBackend.remove(TRACESTATE);
        }
    }
}
