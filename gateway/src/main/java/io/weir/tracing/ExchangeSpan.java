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
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The span of an exchange, and the child spans of its attempts. Confined to the exchange's event loop. */
final class ExchangeSpan implements ExchangeTrace {

    private final Tracer tracer;
    private final Span span;
    private final Context context;
    private final boolean isRecording;
    private final boolean isContinued;
    private final long epochOffsetNanos;
    private @Nullable Span attempt;
    private int attempts;
    private int answered;
    /** The other one of two attempts that run at once; null: there is none. */
    private @Nullable Span otherAttempt;

    private int otherAnswered;

    /**
     * The span of a new exchange.
     *
     * @param span the started span
     * @param isContinued whether the caller started the trace
     * @param epochOffsetNanos difference between nanoseconds since 1970 and the engine's clock
     */
    ExchangeSpan(Tracer tracer, Span span, boolean isContinued, long epochOffsetNanos) {
        this.tracer = tracer;
        this.span = span;
        this.context = Context.root().with(span);
        this.isRecording = span.isRecording();
        this.isContinued = isContinued;
        this.epochOffsetNanos = epochOffsetNanos;
    }

    @Override
    public String traceId() {
        return span.getSpanContext().getTraceId();
    }

    @Override
    public void waited(long from, long to, boolean permitted) {
        span.addEvent("weir.queued", from + epochOffsetNanos, TimeUnit.NANOSECONDS);
        span.addEvent(permitted ? "weir.permitted" : "weir.left-queue", to + epochOffsetNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public @Nullable Consumer<HttpHeaders> attempted(
            Backend backend, Instance instance, String method, String target, long now) {
        attempts++;
        answered = 0;
        if (!isRecording) {
            // Passes the decision on; otherwise the backend would start a trace of its own.
            return isContinued ? null : new TraceContext(span.getSpanContext(), false);
        }
        span.addEvent("weir.attempted", now + epochOffsetNanos, TimeUnit.NANOSECONDS);
        Span started = tracer.spanBuilder(SpanText.name(method, ""))
                .setParent(context)
                .setSpanKind(SpanKind.CLIENT)
                .setStartTimestamp(now + epochOffsetNanos, TimeUnit.NANOSECONDS)
                .startSpan();
        SpanText.attempt(started, backend, instance, method, target, attempts);
        attempt = started;
        return new TraceContext(started.getSpanContext(), isContinued);
    }

    @Override
    public void answered(int status) {
        answered = status;
    }

    @Override
    public void attemptEnded(@Nullable Reason why, long now) {
        Span finished = attempt;
        attempt = null;
        if (finished != null) {
            SpanText.attemptOutcome(finished, answered, why);
            finished.end(now + epochOffsetNanos, TimeUnit.NANOSECONDS);
        }
    }

    @Override
    public void switchAttempt() {
        Span left = attempt;
        int leftAnswered = answered;
        attempt = otherAttempt;
        answered = otherAnswered;
        otherAttempt = left;
        otherAnswered = leftAnswered;
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        if (!isRecording) {
            return;
        }
        try {
            describe(exchange);
        } catch (RuntimeException e) {
            // A failure to describe the exchange must not keep it from ending.
            span.recordException(e);
        }
        span.end(exchange.arrivedAtNanos() + exchange.totalNanos() + epochOffsetNanos, TimeUnit.NANOSECONDS);
    }

    private void describe(ExchangeRecord exchange) {
        SpanText.outcome(span, ExchangeOutcomes.index(exchange), exchange.status(), exchange.detail());
        span.setAttribute(SpanText.ROUTE, exchange.route().id());
        span.setAttribute(SpanText.BACKEND, exchange.backend().name());
        span.setAttribute(SpanText.ATTEMPTS, exchange.attempts());
        span.setAttribute(SpanText.QUEUE_MS, SpanText.millis(exchange.queueNanos()));
        span.setAttribute(SpanText.BACKEND_MS, SpanText.millis(exchange.backendNanos()));
        Reason fallbackReason = exchange.fallbackReason();
        if (fallbackReason != null) {
            span.setAttribute(SpanText.REASON, fallbackReason.word());
        }
        if (exchange.caller().received() instanceof RequestFacts facts) {
            SpanText.request(span, facts);
        }
    }
}
