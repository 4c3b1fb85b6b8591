package io.weir.tracing;

import io.netty.handler.codec.http.HttpHeaders;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.weir.door.RequestFacts;
import io.weir.engine.Backend;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.ExchangeTrace;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An exchange's span, and those of its attempts below it. Confined to the exchange's event loop. */
final class ExchangeSpan implements ExchangeTrace {

    private final Tracer tracer;
    private final Span span;
    private final Context context;
    private final boolean recording;
    private final boolean continued;
    private final long offset;
    private @Nullable Span attempt;
    private int attempts;
    private int answered;

    /**
     * The span of an exchange that begins.
     *
     * @param span which has been started
     * @param continued whether the caller has begun the trace
     * @param offset from the engine's time to that since 1970
     */
    ExchangeSpan(Tracer tracer, Span span, boolean continued, long offset) {
        this.tracer = tracer;
        this.span = span;
        this.context = Context.root().with(span);
        this.recording = span.isRecording();
        this.continued = continued;
        this.offset = offset;
    }

    @Override
    public String traceId() {
        return span.getSpanContext().getTraceId();
    }

    @Override
    public void waited(long from, long to, boolean permitted) {
        span.addEvent("weir.queued", from + offset, TimeUnit.NANOSECONDS);
        span.addEvent(permitted ? "weir.permitted" : "weir.left-queue", to + offset, TimeUnit.NANOSECONDS);
    }

    @Override
    public @Nullable Consumer<HttpHeaders> attempted(Backend backend, String method, String target, long now) {
        attempts++;
        answered = 0;
        if (!recording) {
            // The decision travels on, or the backend would begin a trace of its own.
            return continued ? null : new TraceContext(span.getSpanContext(), false);
        }
        span.addEvent("weir.attempted", now + offset, TimeUnit.NANOSECONDS);
        Span begun = tracer.spanBuilder(SpanText.name(method, ""))
                .setParent(context)
                .setSpanKind(SpanKind.CLIENT)
                .setStartTimestamp(now + offset, TimeUnit.NANOSECONDS)
                .startSpan();
        SpanText.attempt(begun, backend, method, target, attempts);
        attempt = begun;
        return new TraceContext(begun.getSpanContext(), continued);
    }

    @Override
    public void answered(int status) {
        answered = status;
    }

    @Override
    public void attemptEnded(@Nullable Reason why, long now) {
        Span over = attempt;
        attempt = null;
        if (over != null) {
            SpanText.attemptOutcome(over, answered, why);
            over.end(now + offset, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        if (!recording) {
            return;
        }
        try {
            describe(exchange);
        } catch (RuntimeException e) {
            // Whatever is wrong with what it says, the exchange must come to its end.
            span.recordException(e);
        }
        span.end(exchange.arrivedAtNanos() + exchange.totalNanos() + offset, TimeUnit.NANOSECONDS);
    }

    private void describe(ExchangeRecord exchange) {
        SpanText.outcome(span, ExchangeOutcomes.index(exchange), exchange.status(), exchange.detail());
        span.setAttribute(SpanText.ROUTE, exchange.route().id());
        span.setAttribute(SpanText.BACKEND, exchange.backend().name());
        span.setAttribute(SpanText.ATTEMPTS, exchange.attempts());
        span.setAttribute(SpanText.QUEUE_MS, SpanText.millis(exchange.queueNanos()));
        span.setAttribute(SpanText.BACKEND_MS, SpanText.millis(exchange.backendNanos()));
        Reason instead = exchange.fallbackReason();
        if (instead != null) {
            span.setAttribute(SpanText.REASON, instead.word());
        }
        if (exchange.caller() instanceof RequestFacts facts) {
            SpanText.request(span, facts);
        }
    }
}
