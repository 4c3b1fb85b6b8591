package io.weir.engine;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.weir.deadline.CallerTimeout;
import io.weir.faults.ActiveFaults;
import io.weir.faults.InjectedFault;
import io.weir.health.Health;
import io.weir.health.HealthSettings;
import io.weir.health.Probe;
import io.weir.health.ProbeMode;
import io.weir.instance.Instance;
import io.weir.outcome.ProbeMark;
import io.weir.probe.InjectedProbe;
import io.weir.probe.ProbeRequest;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;

/**
 * The way in which a request that an open breaker refuses can serve as a probe.
 *
 * <p>Only a GET or HEAD without a body is copied: it is safe to repeat, and consists of its head alone. An
 * upgrade, a stream or a gRPC call is never copied.
 */
enum ProbeChoice {
    /** The gateway sends a copy of the request; the caller is refused at once. */
    SHADOW,
    /** The request itself is the probe. */
    CALLER,
    /** The request itself is the probe if no other probe has started for two intervals. */
    LAST_RESORT,
    /** The request is no probe. */
    NONE;

    private static final Logger log = LoggerFactory.getLogger(ProbeChoice.class);

    /** The choice for a request. */
    static ProbeChoice of(ExchangeContext exchange, HealthSettings settings) {
        ProbeMode own = exchange.record().route().probe();
        ProbeMode mode = own == null ? settings.recovery().probeMode() : own;
        return switch (mode) {
            case PATH, GRPC_HEALTH -> NONE;
            case CALLER -> CALLER;
            case SHADOW -> isCopyable(exchange) ? SHADOW : LAST_RESORT;
        };
    }

    /** The choice for a request of a route that is open alone: a health path says nothing about a route. */
    static ProbeChoice ofRoute(ExchangeContext exchange, HealthSettings settings) {
        ProbeChoice choice = of(exchange, settings);
        return choice != NONE ? choice : isCopyable(exchange) ? SHADOW : LAST_RESORT;
    }

    /** Whether the request itself would be the probe now. */
    static boolean isDue(ProbeChoice choice, Health health, long usualNanos, long now) {
        return switch (choice) {
            case SHADOW, NONE -> false;
            case CALLER -> health.probes().nanosToNext() == 0;
            case LAST_RESORT -> health.probes().isLastResortDue(now, usualNanos);
        };
    }

    private static boolean isCopyable(ExchangeContext exchange) {
        Caller caller = exchange.record().caller();
        HttpMethod method = caller.method();
        return (method.equals(HttpMethod.GET) || method.equals(HttpMethod.HEAD))
                && !caller.hasBody()
                && !exchange.isStream();
    }

    /** Sends a copy of the exchange's request as a probe. */
    static void sendShadow(ExchangeContext exchange, Backend backend, Instance instance, Probe probe) {
        try {
            Caller caller = exchange.record().caller();
            DefaultHttpHeaders head = new DefaultHttpHeaders();
            caller.writeHead(head, instance.authority());
            CallerTimeout.write(head, probe.patienceNanos());
            head.set(ProbeMark.WEIR_PROBE, "shadow");
            ProbeRequest.Rule rule = (answer, from) -> Mono.just(
                    !backend.settings().failureStatuses().get(answer.status().code()));
            ProbeRequest copy = new ProbeRequest(caller.method(), caller.target(), head, Unpooled.EMPTY_BUFFER, rule);
            EngineResources resources = exchange.resources();
            InjectedProbe.send(
                    fault(exchange, backend, instance),
                    resources.probes(),
                    instance,
                    copy,
                    probe,
                    status -> !backend.settings().failureStatuses().get(status),
                    exchange.loop(),
                    resources.nanoClock());
        } catch (RuntimeException e) {
            probe.failed();
            log.error("Shadow probe of backend {} failed inside the gateway", backend.name(), e);
        }
    }

    /** The fault of a copy: that of a call of the same route, with the same head; null: none. */
    private static @Nullable InjectedFault fault(ExchangeContext exchange, Backend backend, Instance instance) {
        ActiveFaults active = exchange.resources().faults();
        ExchangeRecord record = exchange.record();
        return active == null
                ? null
                : active.choose(
                        record.fellBack() ? null : record.route().id(),
                        backend.name(),
                        instance.shownAddress(),
                        record.caller().received().headers(),
                        true,
                        exchange.now());
    }
}
