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
 * Makes a span for each request, whatever becomes of it. It is there only if tracing is switched on.
 *
 * <p>Thread-safe. What it makes of a request is confined to the request's event loop.
 */
public final class Tracing implements AutoCloseable {

    private static final String SCOPE = "io.weir";
    /** As long as the access log's longest. */
    private static final int MAX_VALUE_CHARS = 2_048;

    private final SpanExport export;
    private final SdkTracerProvider provider;
    private final Tracer tracer;
    private final InstantSource wall;
    private final LongSupplier nanoClock;

    /**
     * Tracing to the collector of the properties. Nothing is sent before there is a span.
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

    /** An exchange begins. */
    public ExchangeTrace began(ExchangeRecord exchange) {
        Context parent = TraceContext.of(exchange.caller().headers());
        long offset = offset();
        String name = SpanText.name(
                exchange.caller().method().name(), exchange.route().id());
        Span span = start(name, parent, exchange.arrivedAtNanos() + offset);
        return new ExchangeSpan(tracer, span, TraceContext.isContinued(parent), offset);
    }

    /**
     * A request was refused before it had a route.
     *
     * @param nanos what it took
     * @return the id of its trace; null if there is none
     */
    public @Nullable String refused(Refusal refusal, long nanos, RequestFacts facts) {
        return failed("", refusal, nanos, facts);
    }

    /**
     * A request was refused on its route, and had no exchange: a filter failed.
     *
     * @param route the route's id
     * @param nanos what it took
     * @return the id of its trace; null if there is none
     */
    public @Nullable String failed(String route, Refusal refusal, long nanos, RequestFacts facts) {
        Reason reason = refusal.reason();
        return over(route, ExchangeOutcomes.index(reason), reason.status().code(), refusal.detail(), nanos, facts);
    }

    /**
     * A request was answered, but by no exchange: by an unprotected route's backend, or by a filter.
     *
     * @param route the route's id
     * @param nanos what it took
     * @return the id of its trace; null if there is none
     */
    public @Nullable String answered(String route, int status, long nanos, RequestFacts facts) {
        return over(route, ExchangeOutcomes.index(status), status, null, nanos, facts);
    }

    private @Nullable String over(
            String route, int outcome, int status, @Nullable String detail, long nanos, RequestFacts facts) {
        Context parent = TraceContext.of(facts.requestHeaders());
        long now = nanoClock.getAsLong() + offset();
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
            // Whatever is wrong with what it says, the request must come to its end.
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

    /** From the engine's time to that since 1970; taken once for an exchange, so that its steps keep their distances. */
    private long offset() {
        Instant now = wall.instant();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano() - nanoClock.getAsLong();
    }

    /** Spans that the collector has taken. */
    public long exported() {
        return export.exported();
    }

    /** Spans that found the queue full. */
    public long dropped() {
        return export.dropped();
    }

    /** Spans that the collector has not taken in time, or refused. */
    public long failed() {
        return export.failed();
    }

    /** Exports what waits, for two seconds at most. */
    @Override
    public void close() {
        provider.shutdown();
    }
}
