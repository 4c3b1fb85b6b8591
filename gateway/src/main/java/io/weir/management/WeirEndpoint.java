package io.weir.management;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.health.Health;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
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
 * The management endpoint {@code weir}: shows the state of the gateway, and changes breakers, instances and
 * limits.
 *
 * <ul>
 *   <li>{@code GET /actuator/weir}: the gateway, every backend, every route.
 *   <li>{@code GET /actuator/weir/orders}: one backend.
 *   <li>{@code POST /actuator/weir/orders} with <code>{"breaker":"open"}</code>: refuses every call until
 *       released. With {@code "closed"}: permits every call until released; the breaker cannot open. With
 *       {@code "released"}: the breaker decides by itself again; it starts closed, with an empty window. The
 *       change takes effect at once, and is logged with the operator's address.
 *   <li>The same with <code>{"instance":"10.0.0.1:8080","action":"drain"}</code>: takes one of several
 *       instances out. It gets neither calls nor probes, its calls under way end, and the backend's limit
 *       follows. With {@code "return"} it gets calls again, a few at first. An instance stays drained while a
 *       reload keeps its address. The last instance that takes calls cannot be drained (409).
 *   <li>The same with <code>{"max-concurrent-calls":20}</code> or other limits of the backend ({@link
 *       OperatorChanges#change}): they apply from the next request on, until the next reload, all of them or
 *       none.
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
    private final RecentEvents recentEvents;

    /** The names of the parameters of the write operation, besides the limits. */
    static final Set<String> PARAMETERS = Set.of("backend", "breaker", "instance", "action");

    /** The endpoint of a gateway. */
    public WeirEndpoint(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            OperatorChanges changes,
            RecentEvents recentEvents) {
        this.changes = changes;
        this.recentEvents = recentEvents;
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
        return new GatewayView(
                GatewayView.Status.of(engine, guard, drain),
                backends,
                gateway.routes().stream().map(RouteState::of).toList(),
                gateway.faults());
    }

    /** One backend; null, which becomes a 404, if no backend has this name. */
    @ReadOperation
    public @Nullable Object one(@Selector String backend) {
        Backend found = gateway.backends().get(backend);
        return found == null ? null : BackendView.of(found);
    }

    /**
     * Forces or releases a backend's breaker, drains or returns an instance, or changes limits.
     *
     * @param instance the address of an instance, with or without its scheme; only together with
     *     {@code action}
     * @param action {@code drain} or {@code return}
     * @param limits all other members of the body, collected by {@link OtherMembersAdvisor}
     */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> change(
            @Selector String backend,
            @Nullable String breaker,
            @Nullable String instance,
            @Nullable String action,
            @Nullable Map<String, Object> limits) {
        return Mono.deferContextual(context -> {
            String by = ManagementCaller.of(context);
            // A change of limits reads files and validates them, which would block an event loop.
            Map<String, Object> others = limits == null ? Map.of() : limits;
            return Mono.fromCallable(() -> instance == null && action == null
                            ? change(backend, breaker, others, by)
                            : changeInstance(backend, instance, action, breaker != null || !others.isEmpty(), by))
                    .subscribeOn(Schedulers.boundedElastic());
        });
    }

    private WebEndpointResponse<Object> change(
            String name, @Nullable String word, Map<String, Object> limits, String by) {
        if (find(name).isEmpty()) {
            return unknownBackend(name);
        }
        if (word == null ? limits.isEmpty() : !WORDS.contains(word)) {
            return refusal(
                    WebEndpointResponse.STATUS_BAD_REQUEST,
                    "breaker: " + (word == null ? "missing" : word) + " (expected: open, closed or released)");
        }
        if (!limits.isEmpty()) {
            Map<String, String> values = new TreeMap<>();
            limits.forEach((limit, value) -> values.put(limit, String.valueOf(value)));
            OperatorChanges.Answer answer = changes.change(name, values, by);
            if (!answer.isOk()) {
                return refusal(WebEndpointResponse.STATUS_BAD_REQUEST, String.join("; ", answer.problems()));
            }
        }
        return (word == null ? find(name) : changes.withoutReload(() -> findAndForce(name, word, by)))
                .map(backend -> new WebEndpointResponse<Object>(BackendView.of(backend)))
                .orElseGet(() -> unknownBackend(name));
    }

    private WebEndpointResponse<Object> changeInstance(
            String name, @Nullable String address, @Nullable String action, boolean hasMore, String by) {
        if (address == null || hasMore) {
            return refusal(
                    WebEndpointResponse.STATUS_BAD_REQUEST,
                    "instance: " + (address == null ? "missing" : address)
                            + " (expected: instance and action, and nothing else)");
        }
        if (action == null || !ACTIONS.contains(action)) {
            return refusal(
                    WebEndpointResponse.STATUS_BAD_REQUEST,
                    "action: " + (action == null ? "missing" : action) + " (expected: drain or return)");
        }
        return changes.withoutReload(() -> find(name)
                .map(backend -> changeInstance(backend, address, action.equals("drain"), by))
                .orElseGet(() -> unknownBackend(name)));
    }

    private WebEndpointResponse<Object> changeInstance(Backend backend, String address, boolean isDrain, String by) {
        Instances instances = backend.instances();
        if (instances.isSingle()) {
            return refusal(
                    WebEndpointResponse.STATUS_BAD_REQUEST,
                    "instance: " + address + " (expected: a backend with several instances; force the breaker of "
                            + backend.name() + " open to stop its calls)");
        }
        Instance instance = instances.find(address);
        if (instance == null) {
            return refusal(
                    WebEndpointResponse.STATUS_NOT_FOUND,
                    "instance: " + address + " (expected: an instance of " + backend.name() + ", such as "
                            + instances.first().shownAddress() + ")");
        }
        Health health = instance.health();
        if (isDrain && !health.isDrained() && !instances.mayDrain(instance)) {
            return refusal(
                    STATUS_CONFLICT,
                    "instance: " + address + " is the last one that takes calls (expected: another one that does;"
                            + " force the breaker of " + backend.name() + " open to stop all calls)");
        }
        if (health.isDrained() != isDrain) {
            String before = health.word();
            int active = instance.inFlight();
            if (isDrain) {
                health.drain();
            } else {
                instance.restore();
            }
            String done = isDrain ? "drained" : "returned";
            log.warn(
                    "Instance {} of backend {} {} by {}: it was {} with {} calls under way, and is {}",
                    instance.shownAddress(),
                    backend.name(),
                    done,
                    by,
                    before,
                    active,
                    health.word());
            recentEvents.add(
                    isDrain ? RecentEvents.Kind.INSTANCE_DRAINED : RecentEvents.Kind.INSTANCE_RETURNED,
                    backend.name(),
                    "Instance " + instance.shownAddress() + " was " + done,
                    by);
        }
        return new WebEndpointResponse<>(BackendView.of(backend));
    }

    private Optional<Backend> find(String name) {
        return Optional.ofNullable(gateway.backends().get(name));
    }

    private Optional<Backend> findAndForce(String name, String word, String by) {
        Optional<Backend> backend = find(name);
        backend.ifPresent(found -> force(found, word, by));
        return backend;
    }

    private void force(Backend backend, String word, String by) {
        Health health = backend.health();
        String before = Health.stateWord(health.state());
        switch (word) {
            case "open" -> health.forceOpen();
            case "closed" -> health.forceClosed();
            default -> health.release();
        }
        log.warn(
                "Breaker of backend {} forced by {}: {}; it was {} and is {}",
                backend.name(),
                by,
                word,
                before,
                Health.stateWord(health.state()));
        if (word.equals("released")) {
            recentEvents.add(RecentEvents.Kind.BREAKER_RELEASED, backend.name(), "The breaker was released", by);
        } else {
            recentEvents.add(RecentEvents.Kind.BREAKER_FORCED, backend.name(), "The breaker was forced " + word, by);
        }
    }

    private static final Set<String> WORDS = Set.of("open", "closed", "released");
    private static final Set<String> ACTIONS = Set.of("drain", "return");
    private static final int STATUS_CONFLICT = 409;

    private static WebEndpointResponse<Object> unknownBackend(String backend) {
        return refusal(WebEndpointResponse.STATUS_NOT_FOUND, "backend: " + backend + " (expected: a configured one)");
    }

    /** A response and no exception: Spring Boot would not show the message of an exception. */
    private static WebEndpointResponse<Object> refusal(int status, String sentence) {
        return new WebEndpointResponse<>(Map.of("status", status, "detail", sentence), status);
    }
}
