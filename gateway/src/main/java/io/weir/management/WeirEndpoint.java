package io.weir.management;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.health.Breaker;
import io.weir.metrics.BackendMeters;
import io.weir.overload.OverloadGuard;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * The management endpoint {@code weir}: what the gateway is doing, and an operator's hand on its breakers.
 *
 * <ul>
 *   <li>{@code GET /actuator/weir}: the gateway, every backend, every route.
 *   <li>{@code GET /actuator/weir/orders}: one backend.
 *   <li>{@code POST /actuator/weir/orders} with <code>{"breaker":"open"}</code>: no call until released; with {@code
 *       "closed"}: every call, and the breaker cannot open until released; with {@code "released"}: the breaker is left
 *       to itself again, closed and with an empty window. It holds at once, and is logged with who asked for it.
 *   <li>The same with <code>{"max-concurrent-calls":20}</code> or others of the backend's limits ({@link
 *       OperatorChanges#change}): they hold from the next request on and until the next reload, all of them or none.
 * </ul>
 */
@Endpoint(id = "weir")
public class WeirEndpoint {

    private static final Logger log = LoggerFactory.getLogger(WeirEndpoint.class);

    private final Gateway gateway;
    private final Engine engine;
    private final OverloadGuard guard;
    private final Drain drain;
    private final OperatorChanges changes;
    private final RecentEvents happenings;

    /** The names of the write operation's own parameters. */
    static final Set<String> PARAMETERS = Set.of("backend", "breaker");

    /** The endpoint of a gateway. */
    public WeirEndpoint(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            OperatorChanges changes,
            RecentEvents happenings) {
        this.changes = changes;
        this.happenings = happenings;
        this.gateway = gateway;
        this.engine = engine;
        this.guard = guard;
        this.drain = drain;
    }

    /** The gateway, every backend, every route. */
    @ReadOperation
    public Object all() {
        Map<String, BackendView> backends = new TreeMap<>();
        gateway.backends().forEach((name, backend) -> backends.put(name, BackendView.of(backend)));
        return new GatewayView(GatewayView.Whole.of(engine, guard, drain), backends, gateway.routes());
    }

    /** One backend; null, which is a 404, if there is none of that name. */
    @ReadOperation
    public @Nullable Object one(@Selector String backend) {
        Backend found = gateway.backends().get(backend);
        return found == null ? null : BackendView.of(found);
    }

    /**
     * Forces a backend's breaker or lets go of it, or changes its limits.
     *
     * @param limits what else the body has, by {@link LimitsOfBody}
     */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> change(
            @Selector String backend, @Nullable String breaker, @Nullable Map<String, Object> limits) {
        return Mono.deferContextual(context -> {
            String by = ManagementCaller.of(context);
            // A change of limits reads and validates: nothing for an event loop.
            return Mono.fromCallable(() -> change(backend, breaker, limits == null ? Map.of() : limits, by))
                    .subscribeOn(Schedulers.boundedElastic());
        });
    }

    private WebEndpointResponse<Object> change(
            String name, @Nullable String word, Map<String, Object> limits, String by) {
        if (inForce(name).isEmpty()) {
            return unknown(name);
        }
        if (word == null ? limits.isEmpty() : !WORDS.contains(word)) {
            return refused(
                    WebEndpointResponse.STATUS_BAD_REQUEST,
                    "breaker: " + (word == null ? "missing" : word) + " (expected: open, closed or released)");
        }
        if (!limits.isEmpty()) {
            Map<String, String> values = new TreeMap<>();
            limits.forEach((limit, value) -> values.put(limit, String.valueOf(value)));
            OperatorChanges.Answer answer = changes.change(name, values, by);
            if (!answer.isOk()) {
                return refused(WebEndpointResponse.STATUS_BAD_REQUEST, String.join("; ", answer.problems()));
            }
        }
        return (word == null ? inForce(name) : changes.undisturbed(() -> forced(name, word, by)))
                .map(backend -> new WebEndpointResponse<Object>(BackendView.of(backend)))
                .orElseGet(() -> unknown(name));
    }

    private Optional<Backend> inForce(String name) {
        return Optional.ofNullable(gateway.backends().get(name));
    }

    private Optional<Backend> forced(String name, String word, String by) {
        Optional<Backend> backend = inForce(name);
        backend.ifPresent(found -> force(found, word, by));
        return backend;
    }

    private void force(Backend backend, String word, String by) {
        Breaker breaker = backend.breaker();
        String before = BackendMeters.stateWord(breaker);
        switch (word) {
            case "open" -> breaker.forceOpen();
            case "closed" -> breaker.forceClosed();
            default -> breaker.release();
        }
        log.warn(
                "Breaker of backend {} forced by {}: {}; it was {} and is {}",
                backend.name(),
                by,
                word,
                before,
                BackendMeters.stateWord(breaker));
        if (word.equals("released")) {
            happenings.add(RecentEvents.Kind.BREAKER_RELEASED, backend.name(), "The breaker was released", by);
        } else {
            happenings.add(RecentEvents.Kind.BREAKER_FORCED, backend.name(), "The breaker was forced " + word, by);
        }
    }

    private static final Set<String> WORDS = Set.of("open", "closed", "released");

    private static WebEndpointResponse<Object> unknown(String backend) {
        return refused(WebEndpointResponse.STATUS_NOT_FOUND, "backend: " + backend + " (expected: a configured one)");
    }

    /** An answer and no exception: of an exception Spring Boot would not tell the sentence. */
    private static WebEndpointResponse<Object> refused(int status, String sentence) {
        return new WebEndpointResponse<>(Map.of("status", status, "detail", sentence), status);
    }
}
