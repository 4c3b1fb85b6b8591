/**
 * Traces for OpenTelemetry: a span for each request and a child span for each attempt, exported over
 * OTLP/HTTP.
 *
 * <p>Off unless {@code weir.tracing.enabled}. While tracing is off, there is no
 * {@link io.weir.tracing.Tracing}, no class of OpenTelemetry is loaded, and an exchange only checks that it
 * has no trace.
 *
 * <h2>Spans</h2>
 *
 * <ul>
 *   <li>A server span for every request that the meter {@code weir.requests} counts, with any outcome:
 *       answered; refused by the engine, by a door or by the decoder; past its deadline; left by its caller.
 *       It lasts from the decoded head to the last byte of the answer flushed. Its name is the method and the
 *       route's id, {@code GET orders}.
 *   <li>For each attempt, an event {@code weir.attempted} of the server span, and a client span below it. The
 *       backend gets the client span's context in {@code traceparent}.
 *   <li>The queue as two events of the server span: {@code weir.queued}, then {@code weir.permitted} or
 *       {@code weir.left-queue}. They are events and not a span, since a wait has no children.
 *   <li>Attributes by OpenTelemetry's conventions for HTTP, and {@code weir.outcome}, {@code weir.reason},
 *       {@code weir.detail}, {@code weir.route}, {@code weir.backend}, {@code weir.door}, {@code
 *       weir.attempts}, {@code weir.queue_ms}, {@code weir.backend_ms}, {@code weir.request_id}, with the
 *       meanings of the access log. {@code error.type} is the reason if the gateway answered itself, and the
 *       status if it passed on a backend's 5xx. A caller's error does not make a server span an error. Paths
 *       have no query, since a query may hold secrets.
 *   <li>No {@code http.route}: a route of Spring Cloud Gateway is not a path template; it may match a host or
 *       a header.
 * </ul>
 *
 * <h2>Sampling and context</h2>
 *
 * The sampler is OpenTelemetry's parent-based ratio sampler. If the caller started the trace, with a
 * {@code traceparent} that {@link io.weir.edge.TraceParent} accepts, the caller's sampled flag decides. Of
 * the traces that the gateway starts, a share is recorded. A trace that is not recorded costs only an id.
 *
 * <p>Backends get the decision, too ({@link io.weir.tracing.TraceContext}, with OpenTelemetry's W3C
 * propagator):
 *
 * <ul>
 *   <li>The trace is recorded: the attempt's {@code traceparent}.
 *   <li>The caller started it, and does not record it: the caller's {@code traceparent}, unchanged.
 *   <li>The gateway started it, and does not record it: a {@code traceparent} without the sampled flag.
 *       Otherwise backends would start traces of their own.
 * </ul>
 *
 * <p>{@code tracestate} is passed on in traces that the caller started. The access log has the same trace id.
 *
 * <h2>Export never blocks a request</h2>
 *
 * An ended span goes into a bounded lock-free queue (JCTools' {@code MpscAtomicArrayQueue}), and one thread
 * exports ({@link io.weir.tracing.SpanExport}). If a collector hangs, refuses or is down, spans are lost and
 * counted ({@code weir.spans}); no request is affected.
 *
 * <h2>Rejected</h2>
 *
 * <ul>
 *   <li>OpenTelemetry's {@code BatchSpanProcessor}: it reports dropped spans only to a {@code MeterProvider}
 *       of OpenTelemetry's, so counting and bounding would need a second queue counter around it. It wakes
 *       its thread through an {@code ArrayBlockingQueue}, whose lock event loops take. While a collector
 *       hangs, its shutdown cannot be limited to two seconds. Ending a span is not cheaper with it: 37 to 193
 *       ns in four runs, against 28 to 87 ns with the queue here; neither allocates.
 *   <li>Micrometer's Observation with a bridge: several allocations and look-ups for each request. The state
 *       machine would still have to report each step to it, since no chain of operators spans an exchange.
 *   <li>OpenTelemetry's autoconfiguration: a second, unchecked configuration by variables {@code OTEL_*}. The
 *       gateway reads none of them.
 *   <li>OkHttp, the exporter's usual sender: the JDK has an HTTP client.
 * </ul>
 *
 * <p><b>Concurrency.</b> The spans of an exchange are confined to its event loop. The writer of a request to
 * a backend gets an immutable {@link io.weir.tracing.TraceContext}, on any event loop.
 *
 * <p><b>Reload.</b> Tracing is created at the start. A file that changes it is refused, with a message that
 * it needs a restart.
 *
 * <p><b>Limitations.</b>
 *
 * <ul>
 *   <li>A caller that sets the sampled flag has all of its requests recorded; the queue bounds the cost.
 *   <li>The span of a request that the decoder refused has no parent, since its head is not known.
 *   <li>The backend of an unprotected route gets the caller's context.
 *   <li>The gateway's own probes are in no trace.
 *   <li>An exporter that retries delays later spans, not requests.
 * </ul>
 */
@NullMarked
package io.weir.tracing;

import org.jspecify.annotations.NullMarked;
