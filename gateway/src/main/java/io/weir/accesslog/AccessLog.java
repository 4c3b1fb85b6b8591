package io.weir.accesslog;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.util.concurrent.FastThreadLocal;
import io.weir.door.RequestFacts;
import io.weir.engine.Caller;
import io.weir.engine.ExchangeOutcomes;
import io.weir.engine.ExchangeRecord;
import io.weir.engine.ExchangeTrace;
import io.weir.engine.RouteObserver;
import io.weir.outcome.Reason;
import io.weir.outcome.Refusal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The access log: a line of JSON for each request, to standard output or a file.
 *
 * <pre>{@code
 * {"timestamp":"2026-03-01T12:00:00.123Z","method":"GET","path":"/orders/7","host":"shop.example",
 *  "protocol":"HTTP/1.1","door":"compiled","route":"orders","backend":"orders","status":503,
 *  "outcome":"bulkhead-full","client":"192.0.2.7","user_agent":"curl/8","request_id":"...",
 *  "trace_id":"...","attempts":0,"queue_ms":0.000,"backend_ms":0.000,"total_ms":0.212,"bytes":0}
 * }</pre>
 *
 * <p>The timestamp is the moment at which the request's head was decoded; lines come in the order in which requests
 * ended. The path is without its query, whose values may be secrets. {@code reason} tells what led to the outcome
 * {@code fallback}; {@code detail} what exactly went wrong; what is not known is left out. The backend is the one that
 * was asked last. Long values are cut off.
 *
 * <p>A line is formatted on the exchange's event loop and handed over; one daemon thread writes. Nobody ever waits for
 * it: a line that finds the queue full is dropped and {@linkplain #dropped() counted}. The writer looks for lines every
 * {@value #POLL_MILLIS} ms rather than being woken for each, which would cost an event loop more than the line, unless
 * the queue is half full.
 */
// Concurrency: the queue is the only meeting place. `parked` is set before the writer looks at the queue a last time
// and parks; an offer that makes the queue half full unparks it if it is set. Either sees the other, or the writer
// wakes by itself some milliseconds later.
public final class AccessLog implements RouteObserver, AutoCloseable {

    static final int POLL_MILLIS = 10;

    private static final long CLOSE_MILLIS = 1_000;
    private static final int BATCH_BYTES = 65_536;

    /** A round is a batch or a wait: about a second of calm, or a few thousand lines. */
    private static final int CHECK_ROUNDS = 1_000 / POLL_MILLIS;

    private static final int PATH_CHARS = 2_048;
    private static final int TEXT_CHARS = 256;
    private static final int WORD_CHARS = 128;

    private static final byte[] TIMESTAMP = JsonLine.key("timestamp");
    private static final byte[] METHOD = JsonLine.key("method");
    private static final byte[] PATH = JsonLine.key("path");
    private static final byte[] HOST = JsonLine.key("host");
    private static final byte[] PROTOCOL = JsonLine.key("protocol");
    private static final byte[] ROUTE = JsonLine.key("route");
    private static final byte[] BACKEND = JsonLine.key("backend");
    private static final byte[] DOOR = JsonLine.key("door");
    private static final byte[] STATUS = JsonLine.key("status");
    private static final byte[] OUTCOME = JsonLine.key("outcome");
    private static final byte[] REASON = JsonLine.key("reason");
    private static final byte[] DETAIL = JsonLine.key("detail");
    private static final byte[] CLIENT = JsonLine.key("client");
    private static final byte[] USER_AGENT = JsonLine.key("user_agent");
    private static final byte[] REQUEST_ID = JsonLine.key("request_id");
    private static final byte[] TRACE_ID = JsonLine.key("trace_id");
    private static final byte[] ATTEMPTS = JsonLine.key("attempts");
    private static final byte[] QUEUE_MS = JsonLine.key("queue_ms");
    private static final byte[] BACKEND_MS = JsonLine.key("backend_ms");
    private static final byte[] TOTAL_MS = JsonLine.key("total_ms");
    private static final byte[] BYTES = JsonLine.key("bytes");

    private static final Logger log = LoggerFactory.getLogger(AccessLog.class);

    private static final FastThreadLocal<JsonLine> LINE = new FastThreadLocal<>() {
        @Override
        protected JsonLine initialValue() {
            return new JsonLine();
        }
    };

    private final LineSink sink;
    private final LongSupplier epochMillis;
    private final LineQueue queue;
    private final int wakeAt;
    private final LongAdder dropped = new LongAdder();
    private final Thread writer;
    private volatile boolean parked;
    private volatile boolean closing;
    private volatile boolean lostOne;

    /**
     * Opens the log, and starts its writer.
     *
     * @param epochMillis {@link System#currentTimeMillis} but for tests
     * @throws IOException if the file cannot be appended to
     */
    public static AccessLog open(AccessLogProperties properties, LongSupplier epochMillis) throws IOException {
        String file = properties.file();
        LineSink sink = file == null ? new LineSink.Shared(System.out) : new LineSink.Appended(Path.of(file));
        return new AccessLog(sink, properties.queueCapacity(), epochMillis);
    }

    @SuppressWarnings("ThisEscapedInObjectConstruction")
    public AccessLog(LineSink sink, int capacity, LongSupplier epochMillis) {
        this.sink = sink;
        this.epochMillis = epochMillis;
        this.queue = new LineQueue(capacity);
        this.wakeAt = Math.max(1, capacity / 2);
        this.writer = Thread.ofPlatform().daemon().name("weir-access-log").start(this::write);
    }

    @Override
    public void ended(ExchangeRecord exchange) {
        try {
            accept(line(exchange));
        } catch (RuntimeException e) {
            // Whatever is wrong with a line, the exchange must come to its end.
            lost(e);
        }
    }

    /**
     * A request was refused before it had a route: it is malformed, or none matches.
     *
     * @param traceId of its trace; null if there is none
     */
    public void refused(Refusal refusal, RequestFacts facts, @Nullable String traceId) {
        failed(null, refusal, 0, facts, traceId);
    }

    /**
     * A request was refused on its route, and never had an exchange: a filter failed.
     *
     * @param route the route's id; null: it had none
     * @param traceId of its trace; null if there is none
     */
    public void failed(
            @Nullable String route, Refusal refusal, long totalNanos, RequestFacts facts, @Nullable String traceId) {
        Reason reason = refusal.reason();
        told(route, reason.status().code(), reason.word(), refusal.detail(), totalNanos, facts, traceId);
    }

    /**
     * A request was answered on a route, but by no exchange: by an unprotected route's backend, or by a filter.
     *
     * @param route the route's id
     * @param traceId of its trace; null if there is none
     */
    public void answered(String route, int status, long totalNanos, RequestFacts facts, @Nullable String traceId) {
        String outcome = ExchangeOutcomes.words().get(ExchangeOutcomes.index(status));
        told(route, status, outcome, null, totalNanos, facts, traceId);
    }

    private void told(
            @Nullable String route,
            int status,
            String outcome,
            @Nullable String detail,
            long totalNanos,
            RequestFacts facts,
            @Nullable String traceId) {
        try {
            JsonLine line = begin(totalNanos);
            facts(line, facts);
            known(line, ROUTE, route, WORD_CHARS);
            outcome(line, status, outcome, null, detail);
            identity(line, facts, traceId);
            if (route != null) {
                line.millis(TOTAL_MS, totalNanos);
            }
            accept(line.end());
        } catch (RuntimeException e) {
            lost(e);
        }
    }

    /** Lines that were dropped, because the queue was full or they could not be written. */
    public long dropped() {
        return dropped.sum();
    }

    /** Writes what is queued, for a second at most. */
    @Override
    public void close() {
        closing = true;
        LockSupport.unpark(writer);
        try {
            writer.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (writer.isAlive()) {
            log.warn("The access log could not be written within {} ms; {} lines are lost", CLOSE_MILLIS, queue.size());
        }
    }

    // ---------------------------------------------------------------- formatting, on event loops

    byte[] line(ExchangeRecord exchange) {
        Caller caller = exchange.caller();
        RequestFacts facts = caller instanceof RequestFacts known ? known : null;
        JsonLine line = begin(exchange.totalNanos());
        if (facts == null) {
            line.text(METHOD, caller.method().name(), WORD_CHARS);
        } else {
            facts(line, facts);
        }
        line.text(ROUTE, exchange.route().id(), WORD_CHARS);
        line.text(BACKEND, exchange.backend().name(), WORD_CHARS);
        outcome(line, exchange.status(), ExchangeOutcomes.of(exchange), exchange.fallbackReason(), exchange.detail());
        if (facts != null) {
            ExchangeTrace trace = exchange.trace();
            identity(line, facts, trace == null ? facts.traceId() : trace.traceId());
        }
        line.number(ATTEMPTS, exchange.attempts());
        line.millis(QUEUE_MS, exchange.queueNanos());
        line.millis(BACKEND_MS, exchange.backendNanos());
        line.millis(TOTAL_MS, exchange.totalNanos());
        line.number(BYTES, exchange.answerBytes());
        return line.end();
    }

    private JsonLine begin(long totalNanos) {
        JsonLine line = LINE.get();
        line.begin();
        line.timestamp(TIMESTAMP, epochMillis.getAsLong() - TimeUnit.NANOSECONDS.toMillis(totalNanos));
        return line;
    }

    private static void facts(JsonLine line, RequestFacts facts) {
        known(line, METHOD, facts.requestMethod(), WORD_CHARS);
        known(line, PATH, withoutQuery(facts.requestPath()), PATH_CHARS);
        known(line, HOST, facts.requestHeaders().get(HttpHeaderNames.HOST), TEXT_CHARS);
        known(line, PROTOCOL, facts.protocol(), WORD_CHARS);
        known(line, DOOR, facts.door(), WORD_CHARS);
    }

    private static void outcome(
            JsonLine line, int status, String outcome, @Nullable Reason reason, @Nullable String detail) {
        line.number(STATUS, status);
        line.text(OUTCOME, outcome, WORD_CHARS);
        if (reason != null) {
            line.text(REASON, reason.word(), WORD_CHARS);
        }
        known(line, DETAIL, detail, TEXT_CHARS);
    }

    private static void identity(JsonLine line, RequestFacts facts, @Nullable String traceId) {
        known(line, CLIENT, facts.callerAddress(), WORD_CHARS);
        known(line, USER_AGENT, facts.requestHeaders().get(HttpHeaderNames.USER_AGENT), TEXT_CHARS);
        known(line, REQUEST_ID, facts.requestId(), TEXT_CHARS);
        known(line, TRACE_ID, traceId, WORD_CHARS);
    }

    private static void known(JsonLine line, byte[] key, @Nullable CharSequence value, int limit) {
        if (value != null && !value.isEmpty()) {
            line.text(key, value, limit);
        }
    }

    /** The path has none already; this is so that a mistake elsewhere cannot write secrets into a log. */
    private static String withoutQuery(String path) {
        int query = path.indexOf('?');
        return query < 0 ? path : path.substring(0, query);
    }

    private void lost(RuntimeException e) {
        dropped.increment();
        if (!lostOne) {
            lostOne = true;
            log.error("A line of the access log could not be made; others will only be counted", e);
        }
    }

    private void accept(byte[] line) {
        int waiting = closing ? 0 : queue.offer(line);
        if (waiting == 0) {
            dropped.increment();
        } else if (waiting >= wakeAt && parked) {
            parked = false;
            LockSupport.unpark(writer);
        }
    }

    // ---------------------------------------------------------------- writing, on the writer's thread

    private void write() {
        Batch batch = new Batch();
        for (long round = 1; ; round++) {
            boolean last = closing;
            if (batch.fill()) {
                batch.write();
            } else if (last) {
                break;
            } else {
                park();
            }
            if (round % CHECK_ROUNDS == 0) {
                batch.check();
            }
        }
        batch.close();
    }

    private void park() {
        parked = true;
        if (queue.size() < wakeAt && !closing) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
        }
        parked = false;
    }

    /** Lines on their way to the sink. */
    private final class Batch {

        private byte[] bytes = new byte[BATCH_BYTES];
        private int length;
        private int lines;
        private byte @Nullable [] next;
        private boolean failing;
        private long reported;

        /** Gathers what is queued, up to a limit; whether there is anything. */
        boolean fill() {
            length = 0;
            lines = 0;
            byte[] line = next != null ? next : queue.poll();
            while (line != null && (length == 0 || length + line.length <= bytes.length)) {
                if (line.length > bytes.length) {
                    bytes = new byte[line.length];
                }
                System.arraycopy(line, 0, bytes, length, line.length);
                length += line.length;
                lines++;
                line = queue.poll();
            }
            next = line;
            return lines > 0;
        }

        void write() {
            try {
                sink.write(bytes, length);
                failing = false;
            } catch (IOException e) {
                dropped.add(lines);
                failed(e);
            }
        }

        void check() {
            try {
                sink.check();
            } catch (IOException e) {
                failed(e);
            }
            long now = dropped.sum();
            if (now > reported) {
                log.warn("Access log: {} lines dropped, {} since the start", now - reported, now);
                reported = now;
            }
        }

        void close() {
            try {
                sink.close();
            } catch (IOException e) {
                failed(e);
            }
        }

        private void failed(IOException e) {
            if (!failing) {
                failing = true;
                log.error("The access log cannot be written; its lines are dropped and counted", e);
            }
        }
    }
}
