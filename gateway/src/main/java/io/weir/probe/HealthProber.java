package io.weir.probe;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.faults.ActiveFaults;
import io.weir.health.Health;
import io.weir.health.Probe;
import io.weir.instance.Instance;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Mono;

/**
 * Probes an instance's health path, or its gRPC health service, while its breaker is open, so that no
 * caller's request is used as a probe.
 *
 * <p>Concurrency: confined to one event loop, except the event of the opening, which wakes the prober.
 */
public final class HealthProber {

    private static final int FIRST_UNHEALTHY_STATUS = 400;

    private final Instance instance;
    private final ProbeRequest request;
    private final EventLoop loop;
    private final LongSupplier nanoClock;
    private final ProbeRequest.Sender sender;
    private String backend = "";
    private Supplier<@Nullable ActiveFaults> faults = () -> null;
    private @Nullable Future<?> nextProbe;
    private volatile boolean closed;

    private HealthProber(Instance instance, ProbeRequest request, EventLoop loop, LongSupplier nanoClock) {
        this.instance = instance;
        this.request = request;
        this.loop = loop;
        this.nanoClock = nanoClock;
        this.sender = ProbeRequest.overNetwork(nanoClock);
    }

    /** A prober of a path that has not {@linkplain #start started}. A status below 400 means healthy. */
    public static HealthProber ofPath(Instance instance, String path, EventLoop loop, LongSupplier nanoClock) {
        DefaultHttpHeaders head = new DefaultHttpHeaders();
        head.set(HttpHeaderNames.HOST, instance.authority());
        ProbeRequest.Rule rule = (answer, from) -> Mono.just(answer.status().code() < FIRST_UNHEALTHY_STATUS);
        return new HealthProber(
                instance, new ProbeRequest(HttpMethod.GET, path, head, Unpooled.EMPTY_BUFFER, rule), loop, nanoClock);
    }

    /**
     * A prober of gRPC's health service that has not {@linkplain #start started}. The status {@code SERVING}
     * of the whole server means healthy, if the call itself succeeds.
     */
    public static HealthProber ofGrpcHealth(Instance instance, EventLoop loop, LongSupplier nanoClock) {
        DefaultHttpHeaders head = new DefaultHttpHeaders();
        head.set(HttpHeaderNames.HOST, instance.authority());
        return new HealthProber(instance, GrpcHealth.of("", head), loop, nanoClock);
    }

    /**
     * Applies the injected faults of the backend to its probes. Called before the start.
     *
     * @param name the backend's name
     * @param active the active faults; null: none
     */
    public HealthProber withFaults(String name, Supplier<@Nullable ActiveFaults> active) {
        backend = name;
        faults = active;
        return this;
    }

    /** Starts probing as soon as the breaker opens. */
    public void start() {
        instance.health().whenOpened(this::wake);
        // The breaker may be open already, if a reload created this prober.
        wake();
    }

    private void wake() {
        loop.execute(this::schedule);
    }

    /** Stops probing. */
    public void close() {
        closed = true;
    }

    private void schedule() {
        Health health = instance.health();
        if (nextProbe == null && !closed && health.state() == State.OPEN && !health.isHeldByCheck()) {
            long due = health.probes().nanosToNext();
            // While all probes are unanswered, the next probe is always due: without a delay this would spin.
            long delay =
                    due > 0 ? due : health.settings().recovery().probeInterval().toNanos();
            nextProbe = loop.schedule(this::probe, delay, TimeUnit.NANOSECONDS);
        }
    }

    private void probe() {
        nextProbe = null;
        Probe started = closed ? null : instance.health().probes().tryStart(nanoClock.getAsLong(), 0, false);
        if (started != null) {
            InjectedProbe.send(
                    InjectedProbe.choose(faults, backend, instance, request.head(), nanoClock.getAsLong()),
                    sender,
                    instance,
                    request,
                    started,
                    status -> status < FIRST_UNHEALTHY_STATUS,
                    loop,
                    nanoClock);
        }
        schedule();
    }
}
