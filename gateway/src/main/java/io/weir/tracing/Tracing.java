package io.weir.tracing;

import io.opentelemetry.api.metrics.MeterProvider;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter;
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporterBuilder;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanLimits;
import io.opentelemetry.sdk.trace.export.SpanExporter;
import io.opentelemetry.sdk.trace.samplers.Sampler;
import io.opentelemetry.semconv.ServiceAttributes;
import io.weir.door.RequestFacts;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.ExchangeTrace;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates a span for each request, with any outcome. Exists only if tracing is enabled.
 *
 * <p>Thread-safe. The spans of a request are confined to the request's event loop.
 */
public final class Tracing implements AutoCloseable {

    private static final String SCOPE = "io.weir";
    /** The length limit of values; the same as in the access log. */
    private static final int MAX_VALUE_CHARS = 2_048;

    private final SpanExport export;
    private final SdkTracerProvider provider;
    private final Tracer tracer;
    private final InstantSource wall;
    private final LongSupplier nanoClock;

    /**
     * Tracing to the configured collector. It sends nothing before the first span.
     *
     * @param nanoClock the engine's clock
     */
    public static Tracing open(TracingProperties properties, InstantSource wall, LongSupplier nanoClock) {
        OtlpHttpSpanExporterBuilder exporter = OtlpHttpSpanExporter.builder()
                .setEndpoint(properties.endpoint())
                .setTimeout(properties.exportTimeout())
                .setConnectTimeout(properties.exportTimeout())
                .setCompression("gzip")
                .setMeterProvider(MeterProvider.noop());
        properties.headers().forEach(exporter::addHeader);
        return new Tracing(exporter.build(), properties, wall, nanoClock);
    }

    Tracing(SpanExporter exporter, TracingProperties properties, InstantSource wall, LongSupplier nanoClock) {
        this.export = new SpanExport(
                exporter,
                properties.queueCapacity(),
                properties.exportInterval(),
                properties.exportTimeout(),
                nanoClock);
        this.provider = SdkTracerProvider.builder()
                .setResource(Resource.getDefault().toBuilder()
                        .put(ServiceAttributes.SERVICE_NAME, properties.serviceName())
                        .build())
                .setSampler(Sampler.parentBased(Sampler.traceIdRatioBased(properties.samplingRatio())))
                .setSpanLimits(SpanLimits.builder()
                        .setMaxAttributeValueLength(MAX_VALUE_CHARS)
                        .build())
                .addSpanProcessor(export)
                .build();
        this.tracer = provider.get(SCOPE);
        this.wall = wall;
        this.nanoClock = nanoClock;
    }

    /** Starts the span of a new exchange. */
    public ExchangeTrace began(ExchangeRecord exchange) {
        Context parent = TraceContext.extract(exchange.caller().received().headers());
        long epochOffsetNanos = epochOffsetNanos();
        String name = SpanText.name(
                exchange.caller().method().name(), exchange.route().id());
        Span span = start(name, parent, exchange.arrivedAtNanos() + epochOffsetNanos);
        return new ExchangeSpan(tracer, span, TraceContext.hasParent(parent), epochOffsetNanos);
    }

    /**
     * Records a request that was refused before its route was known.
     *
     * @param nanos duration of the request
     * @return the id of the request's trace; null: none
     */
    public @Nullable String refused(Refusal refusal, long nanos, RequestFacts facts) {
        return failed("", refusal, nanos, facts);
    }

    /**
     * Records a request that was refused on a route without an exchange: a filter failed.
     *
     * @param route the route's id
     * @param nanos duration of the request
     * @return the id of the request's trace; null: none
     */
    public @Nullable String failed(String route, Refusal refusal, long nanos, RequestFacts facts) {
        Reason reason = refusal.reason();
        return recordFinished(
                route, ExchangeOutcomes.index(reason), reason.status().code(), refusal.detail(), nanos, facts);
    }

    /**
     * Records a request that was answered without an exchange: by the backend of an unprotected route, or by
     * a filter.
     *
     * @param route the route's id
     * @param nanos duration of the request
     * @return the id of the request's trace; null: none
     */
    public @Nullable String answered(String route, int status, long nanos, RequestFacts facts) {
        return recordFinished(route, ExchangeOutcomes.index(status), status, null, nanos, facts);
    }

    private @Nullable String recordFinished(
            String route, int outcome, int status, @Nullable String detail, long nanos, RequestFacts facts) {
        Context parent = TraceContext.extract(facts.headers());
        long now = nanoClock.getAsLong() + epochOffsetNanos();
        Span span = start(SpanText.name(facts.requestMethod(), route), parent, now - nanos);
        if (!span.isRecording()) {
            return facts.traceId();
        }
        try {
            SpanText.outcome(span, outcome, status, detail);
            SpanText.request(span, facts);
            if (!route.isEmpty()) {
                span.setAttribute(SpanText.ROUTE, route);
            }
        } catch (RuntimeException e) {
            // A failure to describe the request must not keep it from ending.
            span.recordException(e);
        }
        span.end(now, TimeUnit.NANOSECONDS);
        return span.getSpanContext().getTraceId();
    }

    private Span start(String name, Context parent, long epochNanos) {
        return tracer.spanBuilder(name)
                .setParent(parent)
                .setSpanKind(SpanKind.SERVER)
                .setStartTimestamp(epochNanos, TimeUnit.NANOSECONDS)
                .startSpan();
    }

    /**
     * The difference between nanoseconds since 1970 and the engine's clock. Read once for each exchange, so
     * that the durations of its steps are exact.
     */
    private long epochOffsetNanos() {
        Instant now = wall.instant();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano() - nanoClock.getAsLong();
    }

    /** Spans that the collector accepted. */
    public long exported() {
        return export.exported();
    }

    /** Spans dropped because the queue was full. */
    public long dropped() {
        return export.dropped();
    }

    /** Spans that the collector refused, or did not accept in time. */
    public long failed() {
        return export.failed();
    }

    /** Exports the queued spans, for two seconds at most. */
    @Override
    public void close() {
        provider.shutdown();
    }
}
