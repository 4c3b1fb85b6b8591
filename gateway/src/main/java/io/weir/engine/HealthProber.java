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
 * Probes a backend's health path while its breaker is open, so that no caller's request is used as a probe.
 *
 * <p>Concurrency: confined to one event loop, except the breaker's event that wakes the prober.
 */
public final class HealthProber {

    private static final int FIRST_UNHEALTHY_STATUS = 400;

    private final Backend backend;
    private final String path;
    private final EventLoop loop;
    private final LongSupplier nanoClock;
    private @Nullable Future<?> nextProbe;
    private volatile boolean closed;

    /** A prober that has not {@linkplain #start started}. */
    public HealthProber(Backend backend, String path, EventLoop loop, LongSupplier nanoClock) {
        this.backend = backend;
        this.path = path;
        this.loop = loop;
        this.nanoClock = nanoClock;
    }

    /** Starts probing as soon as the breaker opens. */
    public void start() {
        backend.breaker().whenOpened(this::wake);
        // The breaker may be open already, if a reload created this prober.
        wake();
    }

    private void wake() {
        loop.execute(() -> schedule(0));
    }

    /** Stops probing. */
    public void close() {
        closed = true;
    }

    private void schedule(long minDelayNanos) {
        if (nextProbe == null && !closed && backend.breaker().state() == State.OPEN) {
            long delayNanos = Math.max(minDelayNanos, backend.breaker().nanosToNextProbe());
            nextProbe = loop.schedule(this::probe, delayNanos, TimeUnit.NANOSECONDS);
        }
    }

    private void probe() {
        nextProbe = null;
        long startedAt = nanoClock.getAsLong();
        boolean acquired = !closed && backend.breaker().acquireHealthProbe(startedAt);
        if (acquired) {
            backend.pool()
                    .client()
                    .headers(headers ->
                            headers.set(HttpHeaderNames.HOST, backend.settings().authority()))
                    .get()
                    .uri(path)
                    // Read to the end: the connection cannot be reused before.
                    .responseConnection((answer, from) -> from.inbound()
                            .receive()
                            .then()
                            .thenReturn(answer.status().code()))
                    .single()
                    .timeout(Duration.ofNanos(backend.settings().deadlineNanos()))
                    .subscribe(
                            status -> probeEnded(startedAt, status < FIRST_UNHEALTHY_STATUS),
                            failure -> probeEnded(startedAt, false));
        }
        // While all probes are under way, the next one is due all the time: without a delay this would spin.
        schedule(acquired ? 0 : backend.breaker().probeInterval().toNanos());
    }

    private void probeEnded(long startedAt, boolean healthy) {
        long nanos = nanoClock.getAsLong() - startedAt;
        if (healthy) {
            backend.breaker().succeeded(Permission.PROBE, nanos);
        } else {
            backend.breaker().failed(Permission.PROBE, nanos, new BackendFailure("health-probe"));
        }
    }
}
