package io.weir.management;

import io.weir.door.RouteView;
import io.weir.engine.Backend;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import io.weir.faults.InjectedFaults;
import io.weir.faults.InjectedFaults.RefusedOrderException;
import io.weir.instance.Instance;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import reactor.core.publisher.Mono;

/**
 * The management endpoint {@code weirfaults}: injects faults into calls, as if the backend misbehaved.
 *
 * <ul>
 *   <li>{@code GET /actuator/weirfaults}: whether faults are enabled, and the active ones.
 *   <li>{@code POST /actuator/weirfaults} with <code>{"backend":"orders","fault":"hang","percent":50,
 *       "duration":"30s"}</code>: half of the calls of the backend hang for 30 s; then the backend is healthy
 *       again by itself. In place of {@code backend} a {@code route}; beside {@code backend} the address of
 *       an {@code instance}. With {@code header} and {@code value} only requests with that field get it. The
 *       fault is {@code latency} (with {@code latency}, such as {@code "300ms"}), {@code abort} (with {@code
 *       status}, 400 to 599), {@code hang}, {@code reset} or {@code truncate} (with {@code afterBytes}).
 *       {@code percent} is 100 unless given. Answers the fault with its {@code id}; 403 unless {@code
 *       weir.faults.enabled}; 400 for a wrong value; 404 for an unknown route, backend or instance; 409 while
 *       {@value InjectedFaults#MAX_ACTIVE} faults are active.
 *   <li>{@code DELETE /actuator/weirfaults/ID} ends one fault (404 if it is over), {@code DELETE
 *       /actuator/weirfaults} all of them. Both work whether faults are enabled or not.
 * </ul>
 */
@Endpoint(id = "weirfaults")
public class WeirFaultsEndpoint {

    private static final double ALL_PERCENT = 100;

    /** The names of the members of the body of a POST. */
    static final Set<String> PARAMETERS = Set.of(
            "route",
            "backend",
            "instance",
            "fault",
            "percent",
            "header",
            "value",
            "latency",
            "status",
            "afterBytes",
            "duration");

    private final InjectedFaults faults;
    private final Gateway gateway;

    /** The endpoint of a gateway. */
    public WeirFaultsEndpoint(InjectedFaults faults, Gateway gateway) {
        this.faults = faults;
        this.gateway = gateway;
    }

    /**
     * The response.
     *
     * @param enabled whether faults can be started
     * @param maxDurationMs the longest time for which a fault may be asked
     * @param faults the active faults, the oldest first; after a {@code DELETE}, those that it has ended
     */
    record View(boolean enabled, long maxDurationMs, List<FaultView> faults) {}

    /** The active faults. */
    @ReadOperation
    public Object all() {
        return view(gateway.faults());
    }

    /**
     * Starts a fault.
     *
     * @param percent share of the calls; default: 100
     * @param latency for {@code latency}
     * @param status for {@code abort}
     * @param afterBytes for {@code truncate}
     * @param duration the time after which the fault heals by itself
     * @param unknown all other members of the body, collected by {@link OtherMembersAdvisor}
     */
    @WriteOperation
    public Mono<WebEndpointResponse<Object>> start(
            @Nullable String route,
            @Nullable String backend,
            @Nullable String instance,
            String fault,
            @Nullable Double percent,
            @Nullable String header,
            @Nullable String value,
            @Nullable String latency,
            @Nullable Integer status,
            @Nullable Long afterBytes,
            String duration,
            @Nullable Map<String, Object> unknown) {
        return ManagementCaller.run(by -> {
            try {
                faults.requireEnabled();
                if (unknown != null && !unknown.isEmpty()) {
                    throw new IllegalArgumentException("unknown: " + new TreeSet<>(unknown.keySet()) + " (expected: "
                            + new TreeSet<>(PARAMETERS) + ")");
                }
                FaultOrder order = new FaultOrder(
                        new FaultScope(route, backend, canonical(backend, instance)),
                        FaultType.of(fault),
                        percent == null ? ALL_PERCENT : percent,
                        header,
                        value,
                        latency == null ? null : DurationArgument.parse("latency", latency),
                        status == null ? 0 : status,
                        afterBytes == null ? 0 : afterBytes,
                        DurationArgument.parse("duration", duration));
                requireKnown(order.scope());
                return new WebEndpointResponse<>(FaultView.of(faults.start(order, by), gateway.routes()));
            } catch (RefusedOrderException e) {
                throw refused(e);
            }
        });
    }

    private static RuntimeException refused(RefusedOrderException e) {
        String message = String.valueOf(e.getMessage());
        return switch (e.why()) {
            case DISABLED -> new RefusedRequestException(RefusedRequestException.STATUS_FORBIDDEN, message);
            case INVALID -> new IllegalArgumentException(message);
            case FULL -> new RefusedRequestException(RefusedRequestException.STATUS_CONFLICT, message);
        };
    }

    /** Ends a fault. */
    @DeleteOperation
    public Mono<WebEndpointResponse<Object>> end(@Selector long id) {
        return ManagementCaller.run(by -> {
            InjectedFault ended = faults.end(id, by);
            if (ended == null) {
                throw unknown("fault: " + id + " (expected: one of GET /actuator/weirfaults)");
            }
            return new WebEndpointResponse<>(FaultView.of(ended, gateway.routes()));
        });
    }

    /** Ends all faults. */
    @DeleteOperation
    public Mono<WebEndpointResponse<Object>> endAll() {
        return ManagementCaller.run(by -> {
            List<FaultView> ended = faults.endAll(by).stream()
                    .map(fault -> FaultView.of(fault, gateway.routes()))
                    .toList();
            return new WebEndpointResponse<>(view(ended));
        });
    }

    private View view(List<FaultView> shown) {
        return new View(faults.isEnabled(), faults.maxDuration().toMillis(), shown);
    }

    /** The address of an instance as calls are matched with it. */
    private @Nullable String canonical(@Nullable String backend, @Nullable String instance) {
        Backend found = backend == null ? null : gateway.backends().get(backend);
        if (found == null || instance == null) {
            return instance;
        }
        Instance known = found.instances().find(instance);
        if (known == null) {
            throw unknown("instance: " + instance + " (expected: an instance of " + backend + ", such as "
                    + found.instances().first().shownAddress() + ")");
        }
        return known.shownAddress();
    }

    private void requireKnown(FaultScope scope) {
        String backend = scope.backend();
        if (backend != null && !gateway.backends().containsKey(backend)) {
            throw unknown("backend: " + backend + " (expected: a configured one)");
        }
        String route = scope.route();
        if (route != null && gateway.routes().stream().noneMatch(view -> isOfBackend(view, route))) {
            throw unknown("route: " + route + " (expected: a configured one, of a backend)");
        }
    }

    private static boolean isOfBackend(RouteView view, String route) {
        return view.id().equals(route) && view.backend() != null;
    }

    /** A route, backend, instance or fault that does not exist. */
    private static RefusedRequestException unknown(String message) {
        return new RefusedRequestException(RefusedRequestException.STATUS_NOT_FOUND, message);
    }
}
