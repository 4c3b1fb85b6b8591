package io.weir.engine;

import io.netty.handler.codec.http.HttpHeaders;
import io.weir.deadline.CallerTimeout;
import io.weir.instance.Instance;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The head of an attempt's request: its target, and the fields that the route's filters, the deadline and the
 * trace make of the caller's. An attempt that an injected latency has delayed is sent with the same head.
 */
// Concurrency: the exchange's event loop reads the target before the request is sent, and so before the
// connection's event loop writes the fields.
final class RequestHead {

    private final ExchangeContext exchange;
    private final Instance instance;
    private final long startedAt;
    private @Nullable String target;
    private @Nullable Consumer<HttpHeaders> traceContext;
    private volatile boolean hasFailed;

    RequestHead(ExchangeContext exchange, Instance instance, long startedAt) {
        this.exchange = exchange;
        this.instance = instance;
        this.startedAt = startedAt;
    }

    /** The path and query of the request. Reports the attempt to the trace, once. */
    String target() {
        String known = target;
        if (known == null) {
            ExchangeRecord record = exchange.record();
            known = record.caller().target();
            ExchangeTrace trace = record.trace();
            if (trace != null) {
                String method = record.caller().method().name();
                traceContext = trace.attempted(record.backend(), instance, method, known, startedAt);
            }
            target = known;
        }
        return known;
    }

    /** Writes the fields. On the connection's event loop. */
    void write(HttpHeaders toBackend) {
        try {
            exchange.record().caller().writeHead(toBackend, instance.authority());
            CallerTimeout.write(toBackend, Math.max(1, exchange.timer().leftNanos(exchange.now())));
            if (traceContext != null) {
                traceContext.accept(toBackend);
            }
        } catch (RuntimeException e) {
            hasFailed = true;
            throw e;
        }
    }

    /** The gateway could not build the request. */
    void failed() {
        hasFailed = true;
    }

    /** Whether the gateway could not build the request, so that the backend is not at fault. */
    boolean hasFailed() {
        return hasFailed;
    }
}
