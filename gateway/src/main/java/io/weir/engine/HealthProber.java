package io.weir.engine;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.weir.health.BackendFailure;
import io.weir.health.Breaker.Permission;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks a backend's health path while its breaker is open, instead of letting callers' requests find out.
 *
 * <p>Concurrency: confined to one event loop, but for the breaker's event that wakes it.
 */
public final class HealthProber {

    private static final int FIRST_UNHEALTHY_STATUS = 400;

    private final Backend backend;
    private final String path;
    private final EventLoop loop;
    private final LongSupplier nanoClock;
    private @Nullable Future<?> next;
    private volatile boolean closed;

    /** A prober that has not {@linkplain #start started}. */
    public HealthProber(Backend backend, String path, EventLoop loop, LongSupplier nanoClock) {
        this.backend = backend;
        this.path = path;
        this.loop = loop;
        this.nanoClock = nanoClock;
    }

    /** Sleeps until the breaker opens, and probes from then on. */
    public void start() {
        backend.breaker().whenOpened(this::wake);
        // It may be open already, if the configuration has changed meanwhile.
        wake();
    }

    private void wake() {
        loop.execute(this::schedule);
    }

    /** Probes no more. */
    public void close() {
        closed = true;
    }

    private void schedule() {
        if (next == null && !closed && backend.breaker().state() == State.OPEN) {
            next = loop.schedule(this::probe, backend.breaker().nanosToNextProbe(), TimeUnit.NANOSECONDS);
        }
    }

    private void probe() {
        next = null;
        long startedAt = nanoClock.getAsLong();
        if (!closed && backend.breaker().acquireHealthProbe(startedAt)) {
            backend.pool()
                    .client()
                    .headers(headers -> headers.set(HttpHeaderNames.HOST, backend.settings().authority()))
                    .get()
                    .uri(path)
                    // To its end: a connection whose answer goes on is not free for the next one.
                    .responseConnection((answer, from) -> from.inbound()
                            .receive()
                            .then()
                            .thenReturn(answer.status().code()))
                    .single()
                    .timeout(Duration.ofNanos(backend.settings().deadlineNanos()))
                    .subscribe(
                            status -> ended(startedAt, status < FIRST_UNHEALTHY_STATUS),
                            failure -> ended(startedAt, false));
        }
        schedule();
    }

    private void ended(long startedAt, boolean healthy) {
        long took = nanoClock.getAsLong() - startedAt;
        if (healthy) {
            backend.breaker().succeeded(Permission.PROBE, took);
        } else {
            backend.breaker().failed(Permission.PROBE, took, new BackendFailure("health-probe"));
        }
    }
}
