package io.weir.management;

import io.weir.drain.Drain;
import io.weir.engine.Backend;
import io.weir.engine.Engine;
import io.weir.instance.Instance;
import io.weir.instance.Instances;
import io.weir.overload.OverloadGuard;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

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
 *       OperatorChanges#change}): they apply from the next request on, all of them or none, until
 *       <code>{"limits":"released"}</code>, which ends all changes of the backend's limits. A reload keeps
 *       them.
 *   <li>With a {@code duration} of 1s to 7d beside it, such as
 *       <code>{"breaker":"open","duration":"10m"}</code>, each change ends by itself after that time, as if
 *       the operator had released it. A later change of the same thing replaces it with its time; a reload
 *       keeps it; a stop of the gateway forgets it.
 *   <li>With {@code ?fleet=true} in the address, all gateways make the change ({@code io.weir.fleet}).
 * </ul>
 */
@Endpoint(id = "weir")
public class WeirEndpoint {

    private final Gateway gateway;
    private final Engine engine;
    private final OverloadGuard guard;
    private final Drain drain;
    private final OperatorChanges changes;
    private final OperatorSwitches switches;
    private final String tlsEngine;

    /** The names of the parameters of the write operation, besides the limits. */
    static final Set<String> PARAMETERS = Set.of("backend", "breaker", "instance", "action", "duration");

    /** The endpoint of a gateway. */
    public WeirEndpoint(
            Gateway gateway,
            Engine engine,
            OverloadGuard guard,
            Drain drain,
            OperatorChanges changes,
            OperatorSwitches switches,
            String tlsEngine) {
        this.tlsEngine = tlsEngine;
        this.changes = changes;
        this.switches = switches;
        this.gateway = gateway;
        this.engine = engine;
        this.guard = guard;
        this.drain = drain;
    }

    /** The gateway, every backend, every route. */
    @ReadOperation
    public Object all() {
        Map<String, BackendView> backends = new TreeMap<>();
        Map<String, List<OperatorChangeView>> changed = gateway.operatorChanges();
        gateway.backends()
                .forEach((name, backend) ->
                        backends.put(name, BackendView.of(backend, changed.getOrDefault(name, List.of()))));
        return new GatewayView(
                GatewayView.Status.of(engine, guard, drain),
                backends,
                gateway.routes().stream().map(RouteState::of).toList(),
                gateway.faults(),
                gateway.configuration(),
                tlsEngine);
    }

    /** One backend; null, which becomes a 404, if no backend has this name. */
    @ReadOperation
    public @Nullable Object one(@Selector String backend) {
        Backend found = gateway.backends().get(backend);
        return found == null
                ? null
                : BackendView.of(found, gateway.operatorChanges().getOrDefault(backend, List.of()));
    }

    /**
     * Forces or releases a backend's breaker, drains or returns an instance, or changes limits.
     *
     * @param instance the address of an instance, with or without its scheme; only together with
     *     {@code action}
     * @param action {@code drain} or {@code return}
     * @param duration the time to live of the change, with a unit, 1s to 7d; null: it has no end
     * @param limits all other members of the body, collected by {@link OtherMembersAdvisor}
     */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> change(
            @Selector String backend,
            @Nullable String breaker,
            @Nullable String instance,
            @Nullable String action,
            @Nullable String duration,
            @Nullable Map<String, Object> limits) {
        Map<String, Object> others = limits == null ? Map.of() : limits;
        return ManagementCaller.run(by -> {
            Duration lasting = lasting(duration, breaker, action, others);
            if (instance == null && action == null) {
                change(backend, breaker, others, lasting, by);
            } else {
                changeInstance(backend, instance, action, breaker != null || !others.isEmpty(), lasting, by);
            }
            return new WebEndpointResponse<>(
                    BackendView.of(find(backend), gateway.operatorChanges().getOrDefault(backend, List.of())));
        });
    }

    private void change(
            String name, @Nullable String word, Map<String, Object> limits, @Nullable Duration lasting, String by) {
        find(name);
        if (word == null ? limits.isEmpty() : !WORDS.contains(word)) {
            throw new IllegalArgumentException(
                    "breaker: " + (word == null ? "missing" : word) + " (expected: open, closed or released)");
        }
        if (!limits.isEmpty()) {
            OperatorChanges.Answer answer = changeLimits(name, limits, lasting, by);
            if (!answer.isOk()) {
                throw new IllegalArgumentException(String.join("; ", answer.problems()));
            }
        }
        if (word != null) {
            changes.withoutReload(() -> switches.force(find(name), word, by, lasting));
        }
    }

    private OperatorChanges.Answer changeLimits(
            String name, Map<String, Object> limits, @Nullable Duration lasting, String by) {
        Map<String, String> values = new TreeMap<>();
        limits.forEach((limit, value) -> values.put(limit, String.valueOf(value)));
        String release = values.get(OtherMembersAdvisor.LIMITS);
        if (release == null) {
            return changes.change(name, values, by, lasting);
        }
        return values.size() == 1 && release.equals(RELEASED)
                ? changes.release(name, by)
                : new OperatorChanges.Answer(
                        List.of(), List.of("limits: " + release + " (expected: released, and no limit beside it)"));
    }

    private void changeInstance(
            String name,
            @Nullable String address,
            @Nullable String action,
            boolean hasMore,
            @Nullable Duration lasting,
            String by) {
        if (address == null || hasMore) {
            throw new IllegalArgumentException("instance: " + (address == null ? "missing" : address)
                    + " (expected: instance, action and perhaps duration, and nothing else)");
        }
        if (action == null || !ACTIONS.contains(action)) {
            throw new IllegalArgumentException(
                    "action: " + (action == null ? "missing" : action) + " (expected: drain or return)");
        }
        changes.withoutReload(() -> changeInstance(find(name), address, action.equals("drain"), lasting, by));
    }

    private void changeInstance(
            Backend backend, String address, boolean isDrain, @Nullable Duration lasting, String by) {
        Instances instances = backend.instances();
        if (instances.isSingle()) {
            throw new IllegalArgumentException(
                    "instance: " + address + " (expected: a backend with several instances; force the breaker of "
                            + backend.name() + " open to stop its calls)");
        }
        Instance instance = instances.find(address);
        if (instance == null) {
            throw new RefusedRequestException(
                    RefusedRequestException.STATUS_NOT_FOUND,
                    "instance: " + address + " (expected: an instance of " + backend.name() + ", such as "
                            + instances.first().shownAddress() + ")");
        }
        if (!isDrain) {
            switches.restore(backend, instance, by);
        } else if (instance.health().isDrained() || instances.mayDrain(instance)) {
            switches.drain(backend, instance, by, lasting);
        } else {
            throw new RefusedRequestException(
                    RefusedRequestException.STATUS_CONFLICT,
                    "instance: " + address + " is the last one that takes calls (expected: another one that does;"
                            + " force the breaker of " + backend.name() + " open to stop all calls)");
        }
    }

    /**
     * The time to live of a change; null: none.
     *
     * @throws IllegalArgumentException if it is no duration, out of range, or of a change that cannot have
     *     one
     */
    private static @Nullable Duration lasting(
            @Nullable String duration, @Nullable String word, @Nullable String action, Map<String, Object> limits) {
        if (duration == null) {
            return null;
        }
        if (RELEASED.equals(word) || "return".equals(action) || limits.containsKey(OtherMembersAdvisor.LIMITS)) {
            throw new IllegalArgumentException("duration: " + duration + " (expected: none beside released or return)");
        }
        Duration lasting = DurationArgument.parse("duration", duration);
        if (lasting.compareTo(MIN_LASTING) < 0 || lasting.compareTo(MAX_LASTING) > 0) {
            throw new IllegalArgumentException("duration: " + duration + " (expected: 1s to 7d)");
        }
        return lasting;
    }

    private Backend find(String name) {
        Backend found = gateway.backends().get(name);
        if (found == null) {
            throw new RefusedRequestException(
                    RefusedRequestException.STATUS_NOT_FOUND, "backend: " + name + " (expected: a configured one)");
        }
        return found;
    }

    private static final String RELEASED = "released";
    private static final Set<String> WORDS = Set.of("open", "closed", RELEASED);
    private static final Set<String> ACTIONS = Set.of("drain", "return");
    /** Shorter changes are over before an operator sees them. */
    private static final Duration MIN_LASTING = Duration.ofSeconds(1);
    /** A change that is needed for longer belongs to the files. */
    private static final Duration MAX_LASTING = Duration.ofDays(7);
}
