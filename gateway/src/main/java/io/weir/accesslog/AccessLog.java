package io.weir.accesslog;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.util.concurrent.FastThreadLocal;
import io.weir.authentication.VerifiedToken;
import io.weir.door.RequestFacts;
import io.weir.engine.Caller;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.ExchangeTrace;
import io.weir.engine.Replacement;
import io.weir.engine.RouteObserver;
import io.weir.faults.InjectedFault;
import io.weir.hedge.HedgeResult;
import io.weir.instance.Instance;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The access log: one line of JSON for each request, to standard output or to a file.
 *
 * <pre>{@code
 * {"timestamp":"2026-03-01T12:00:00.123Z","method":"GET","path":"/orders/7","host":"shop.example",
 *  "protocol":"HTTP/1.1","door":"compiled","route":"orders","backend":"orders","priority":"normal",
 *  "status":503,
 *  "outcome":"bulkhead-full","client":"192.0.2.7","user_agent":"curl/8","request_id":"...",
 *  "trace_id":"...","attempts":0,"queue_ms":0.000,"backend_ms":0.000,"total_ms":0.212,"bytes":178}
 * }</pre>
 *
 * <p>The timestamp is the time when the request's head was decoded. Lines are in the order in which requests
 * ended. The path has no query, since a query may hold secrets. {@code reason} is the cause of the outcome
 * {@code fallback}; {@code detail} is the exact cause. {@code identity} is the caller's, from its token.
 * {@code fault} is the fault that an operator has injected into one of the attempts. {@code hedge} is the
 * result of the call's hedge. Unknown values are left
 * out. The backend is the last one that was called; {@code instance} is its last instance, where it has
 * several. Long values are truncated. {@link AccessLogProperties} leave members out, and add fields of the
 * request.
 *
 * <p>Of the requests that are refused at their head while an event loop is overloaded, only a sample is
 * logged.
 *
 * <p>A line is formatted on the exchange's event loop and written by a {@link LineWriter}.
 */
public final class AccessLog implements RouteObserver, AutoCloseable {

    private static final int DISCARDED_LINES = 1_000;
    private static final int PATH_CHARS = 2_048;
    private static final int TEXT_CHARS = 256;
    private static final int WORD_CHARS = 128;

    /** The size of an answer that Spring Cloud Gateway has written. */
    private static final int UNKNOWN = -1;

    private static final Logger log = LoggerFactory.getLogger(AccessLog.class);

    private static final FastThreadLocal<JsonLine> LINE = new FastThreadLocal<>() {
        @Override
        protected JsonLine initialValue() {
            return new JsonLine();
        }
    };

    private final Set<LogField> excluded;
    /** Names of fields, each with the key of its member. */
    private final Map<String, byte[]> requestHeaders;

    private final LongSupplier epochMillis;
    private final LineWriter writer;
    private volatile boolean isFailureLogged;

    /**
     * Opens the log, and starts its writer.
     *
     * @param epochMillis {@link System#currentTimeMillis}, except in tests
     * @throws IOException if the file cannot be opened for appending
     */
    public static AccessLog open(AccessLogProperties properties, LongSupplier epochMillis) throws IOException {
        String file = properties.file();
        LineSink sink = file == null ? new LineSink.SharedStream(System.out) : new LineSink.AppendedFile(Path.of(file));
        return new AccessLog(sink, properties.queueCapacity(), properties, epochMillis);
    }

    /** A log whose lines are formatted and then discarded, for a warm-up. */
    public static AccessLog discarding(AccessLogProperties properties, LongSupplier epochMillis) {
        return new AccessLog(new LineSink.Discarded(), DISCARDED_LINES, properties, epochMillis);
    }

    /**
     * A log to a sink.
     *
     * @param capacity maximum number of lines that wait to be written
     * @param properties what a line has
     * @param epochMillis {@link System#currentTimeMillis}, except in tests
     */
    public AccessLog(LineSink sink, int capacity, AccessLogProperties properties, LongSupplier epochMillis) {
        this.excluded = properties.exclude();
        this.requestHeaders = properties.requestHeaders().stream()
                .collect(Collectors.toUnmodifiableMap(
                        name -> name,
                        name -> JsonLine.key(
                                "header_" + name.toLowerCase(Locale.ROOT).replace('-', '_'))));
        this.epochMillis = epochMillis;
        this.writer = new LineWriter(sink, capacity);
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        try {
            writer.accept(line(exchange));
        } catch (RuntimeException e) {
            // A failure of the log must not keep the exchange from ending.
            failed(e);
        }
    }

    /**
     * Logs a request that was refused before its route was known: it is malformed, or no route matches.
     *
     * @param traceId id of the request's trace; null: none
     */
    public void refused(Refusal refusal, RequestFacts facts, @Nullable String traceId) {
        failed(null, refusal, 0, facts, traceId);
    }

    /**
     * Logs a request that was refused on a route without an exchange: a filter failed.
     *
     * @param route the route's id; null: not known
     * @param traceId id of the request's trace; null: none
     */
    public void failed(
            @Nullable String route, Refusal refusal, long totalNanos, RequestFacts facts, @Nullable String traceId) {
        Reason reason = refusal.reason();
        logWithoutExchange(
                route,
                reason.status().code(),
                reason.word(),
                refusal.detail(),
                totalNanos,
                facts,
                traceId,
                facts.refusalBytes(refusal));
    }

    /**
     * Logs a request that was answered on a route without an exchange: by the backend of an unprotected
     * route, or by a filter.
     *
     * @param route the route's id
     * @param traceId id of the request's trace; null: none
     */
    public void answered(String route, int status, long totalNanos, RequestFacts facts, @Nullable String traceId) {
        String outcome = ExchangeOutcomes.words().get(ExchangeOutcomes.index(status));
        logWithoutExchange(route, status, outcome, null, totalNanos, facts, traceId, UNKNOWN);
    }

    private void logWithoutExchange(
            @Nullable String route,
            int status,
            String outcome,
            @Nullable String detail,
            long totalNanos,
            RequestFacts facts,
            @Nullable String traceId,
            int answerBytes) {
        try {
            JsonLine line = begin(totalNanos);
            facts(line, facts);
            optional(line, LogField.ROUTE, route, WORD_CHARS);
            outcome(line, status, outcome, null, detail);
            identity(line, facts, traceId);
            if (route != null) {
                line.millis(LogField.TOTAL_MS, totalNanos);
            }
            if (answerBytes != UNKNOWN) {
                line.number(LogField.BYTES, answerBytes);
            }
            writer.accept(line.end());
        } catch (RuntimeException e) {
            failed(e);
        }
    }

    /** Lines dropped since the start: the queue was full, or they could not be written. */
    public long dropped() {
        return writer.dropped();
    }

    /** Writes the queued lines, for one second at most. */
    @Override
    public void close() {
        writer.close();
    }

    // ---------------------------------------------------------------- formatting, on event loops

    byte[] line(ExchangeRecord exchange) {
        Caller caller = exchange.caller();
        RequestFacts facts = caller.received() instanceof RequestFacts given ? given : null;
        JsonLine line = begin(exchange.totalNanos());
        if (facts == null) {
            line.text(LogField.METHOD, caller.method().name(), WORD_CHARS);
        } else {
            facts(line, facts);
        }
        line.text(LogField.ROUTE, exchange.route().id(), WORD_CHARS);
        line.text(LogField.BACKEND, exchange.backend().name(), WORD_CHARS);
        Instance instance = exchange.instance();
        if (instance != null) {
            line.text(LogField.INSTANCE, instance.shownAuthority(), WORD_CHARS);
        }
        line.text(LogField.PRIORITY, exchange.priority().word(), WORD_CHARS);
        outcome(line, exchange.status(), ExchangeOutcomes.of(exchange), exchange.fallbackReason(), exchange.detail());
        Replacement replacement = exchange.replacement();
        if (replacement != null && replacement.isLastGood()) {
            line.number(LogField.LAST_GOOD_S, replacement.ageSeconds());
        }
        VerifiedToken token = exchange.token();
        optional(line, LogField.IDENTITY, token == null ? null : token.identity(), TEXT_CHARS);
        InjectedFault fault = exchange.fault();
        if (fault != null) {
            line.text(LogField.FAULT, fault.type().word(), WORD_CHARS);
        }
        if (facts != null) {
            ExchangeTrace trace = exchange.trace();
            identity(line, facts, trace == null ? facts.traceId() : trace.traceId());
        }
        line.number(LogField.ATTEMPTS, exchange.attempts());
        HedgeResult hedge = exchange.hedge();
        if (hedge != null) {
            line.text(LogField.HEDGE, hedge.word(), WORD_CHARS);
        }
        line.millis(LogField.QUEUE_MS, exchange.queueNanos());
        line.millis(LogField.BACKEND_MS, exchange.backendNanos());
        line.millis(LogField.TOTAL_MS, exchange.totalNanos());
        line.number(LogField.BYTES, exchange.answerBytes());
        return line.end();
    }

    private JsonLine begin(long totalNanos) {
        JsonLine line = LINE.get();
        line.begin(excluded);
        line.timestamp(LogField.TIMESTAMP, epochMillis.getAsLong() - TimeUnit.NANOSECONDS.toMillis(totalNanos));
        return line;
    }

    private static void facts(JsonLine line, RequestFacts facts) {
        optional(line, LogField.METHOD, facts.requestMethod(), WORD_CHARS);
        optional(line, LogField.PATH, withoutQuery(facts.requestPath()), PATH_CHARS);
        optional(line, LogField.HOST, facts.headers().get(HttpHeaderNames.HOST), TEXT_CHARS);
        optional(line, LogField.PROTOCOL, facts.protocol(), WORD_CHARS);
        optional(line, LogField.DOOR, facts.door(), WORD_CHARS);
    }

    private static void outcome(
            JsonLine line, int status, String outcome, @Nullable Reason reason, @Nullable String detail) {
        line.number(LogField.STATUS, status);
        line.text(LogField.OUTCOME, outcome, WORD_CHARS);
        if (reason != null) {
            line.text(LogField.REASON, reason.word(), WORD_CHARS);
        }
        optional(line, LogField.DETAIL, detail, TEXT_CHARS);
    }

    private void identity(JsonLine line, RequestFacts facts, @Nullable String traceId) {
        optional(line, LogField.CLIENT, facts.callerAddress(), WORD_CHARS);
        optional(line, LogField.USER_AGENT, facts.headers().get(HttpHeaderNames.USER_AGENT), TEXT_CHARS);
        optional(line, LogField.REQUEST_ID, facts.requestId(), TEXT_CHARS);
        optional(line, LogField.TRACE_ID, traceId, WORD_CHARS);
        if (!requestHeaders.isEmpty()) {
            requestHeaders(line, facts.headers());
        }
    }

    private void requestHeaders(JsonLine line, HttpHeaders headers) {
        requestHeaders.forEach((name, key) -> {
            List<String> values = headers.getAll(name);
            if (!values.isEmpty()) {
                line.text(key, String.join(", ", values), TEXT_CHARS);
            }
        });
    }

    private static void optional(JsonLine line, LogField field, @Nullable CharSequence value, int limit) {
        if (value != null && !value.isEmpty()) {
            line.text(field, value, limit);
        }
    }

    /**
     * The path has no query already; this protects against a mistake elsewhere, since a query may hold
     * secrets.
     */
    private static String withoutQuery(String path) {
        int query = path.indexOf('?');
        return query < 0 ? path : path.substring(0, query);
    }

    private void failed(RuntimeException e) {
        writer.countDropped();
        if (!isFailureLogged) {
            isFailureLogged = true;
            log.error("Line of the access log cannot be formatted; later failures are only counted", e);
        }
    }
}
