/**
 * Traces for OpenTelemetry: a span for each request, and below it one for each attempt, exported over OTLP/HTTP.
 *
 * <p>Off unless {@code weir.tracing.enabled}. Then there is no {@link io.weir.tracing.Tracing}, nothing of OpenTelemetry is
 * loaded, and an exchange that begins is asked once whether anybody wants to be told.
 *
 * <h2>What is told</h2>
 *
 * <ul>
 *   <li>A server span for every request that the meter {@code weir.requests} counts, whatever became of it: answered, refused by
 *       the engine, by a door or where it was decoded, past its deadline, left by its caller. From the decoded head to the answer's last byte
 *       flushed. Its name is method and route's id, {@code GET orders}.
 *   <li>Each attempt at a backend as an event of the server span, {@code weir.attempted}, and as a client span below it, whose context is
 *       what the backend gets in {@code traceparent}.
 *   <li>The queue as two events of the server span, {@code weir.queued} and then {@code weir.permitted} or {@code
 *       weir.left-queue}. An event and no span, since it is the exchange that waits, and nobody asks for a wait's children.
 *   <li>Attributes by OpenTelemetry's conventions for HTTP, and {@code weir.outcome}, {@code weir.reason}, {@code weir.detail}, {@code
 *       weir.route}, {@code weir.backend}, {@code weir.door}, {@code weir.attempts}, {@code weir.queue_ms}, {@code
 *       weir.backend_ms}, {@code weir.request_id}, with the access log's words and meanings. {@code error.type} is the reason's word where the
 *       gateway answered itself, and the status where a backend's 5xx was passed on. What callers do wrong is no error of a server
 *       span. Of paths the query is left out, since its values may be secrets.
 *   <li>No {@code http.route}: a route of Spring Cloud Gateway's is not a template of a path, it may go by a host or a header.
 * </ul>
 *
 * <h2>Sampling and context</h2>
 *
 * OpenTelemetry's parent-based ratio: a trace that the caller has begun, by a {@code traceparent} that is valid as {@link
 * io.weir.edge.TraceParent} has it, is recorded if the caller says so; of those begun here a share is. What is not recorded costs an id. The decision
 * travels on: a backend gets the attempt's {@code traceparent} where it is recorded; the caller's own, untouched, where the caller said that it
 * is not; and where a trace begun here is not recorded one that says so, since backends would begin traces of their own otherwise. {@code
 * tracestate} goes on with a trace that is the caller's. The access log has the same trace id.
 *
 * <h2>Never in the way</h2>
 *
 * A span that has ended goes into a bounded queue without a lock ({@link io.weir.tracing.SpanExport}), and one thread exports. A collector that
 * hangs, refuses or is not there costs spans, which are counted ({@code weir.spans}), and never a request. In place of
 * OpenTelemetry's BatchSpanProcessor, which takes a lock where spans end, on the event loop, and tells of what it drops by
 * metrics of OpenTelemetry's own only.
 *
 * <h2>Why this and not something else</h2>
 *
 * <ul>
 *   <li>Micrometer's Observation with a bridge: several allocations and look-ups for each request, and it would have to be fed from the state machine
 *       all the same, since no chain of operators spans an exchange.
 *   <li>OpenTelemetry's autoconfiguration: a second configuration, by {@code OTEL_*}, that nobody checks. None of those are read.
 *   <li>OkHttp, the exporter's usual sender: the JDK has a client.
 * </ul>
 *
 * <p>Concurrency: what belongs to an exchange is confined to its event loop; the head that goes to a backend gets an immutable {@link
 * io.weir.tracing.TraceContext}, on whatever event loop it is written.
 *
 * <p>Reload: tracing is built in at the start; a file that changes it is refused, and says that it takes a restart.
 *
 * <p>Limitations: a caller who sets the sampled flag has each of its requests recorded; the queue bounds what that costs. What was refused where it was
 * decoded has no parent, since its head is not known. The context that an unprotected route's backend gets is the caller's. The
 * gateway's own probes are in no trace. An exporter that is retrying holds up later spans, not requests.
 */
@NullMarked
package io.weir.tracing;

import org.jspecify.annotations.NullMarked;
