package io.weir.management;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.door.RouteView;
import io.weir.faults.FaultOrder;
import io.weir.faults.FaultScope;
import io.weir.faults.FaultType;
import io.weir.faults.InjectedFault;
import java.time.Duration;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * An injected fault in the endpoints {@code weir} and {@code weirfaults}, and on the dashboard.
 *
 * @param id names the fault in {@code DELETE /actuator/weirfaults/ID}
 * @param fault {@code latency}, {@code abort}, {@code hang}, {@code reset} or {@code truncate}
 * @param text the fault in words
 * @param route the route whose calls get it; null: those of all routes
 * @param backend the backend whose calls get it; of a route, its present backend; null: the route is gone
 * @param instance the instance whose calls get it; null: all of them
 * @param percent share of the calls, above 0, at most 100
 * @param header the field that a request must have; null: none
 * @param value the value of that field; null: any
 * @param latencyMs for {@code latency}; else null
 * @param status for {@code abort}; else null
 * @param afterBytes for {@code truncate}; else null
 * @param calls calls that got it so far, the gateway's own included
 * @param startedAt as ISO 8601 has it
 * @param endsAt when it heals by itself
 * @param by the operator
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record FaultView(
        long id,
        String fault,
        String text,
        @Nullable String route,
        @Nullable String backend,
        @Nullable String instance,
        double percent,
        @Nullable String header,
        @Nullable String value,
        @Nullable Long latencyMs,
        @Nullable Integer status,
        @Nullable Long afterBytes,
        long calls,
        String startedAt,
        String endsAt,
        String by) {

    /**
     * The view of a fault.
     *
     * @param routes the present routes
     */
    public static FaultView of(InjectedFault fault, Collection<RouteView> routes) {
        FaultOrder order = fault.order();
        FaultScope scope = order.scope();
        Duration latency = order.latency();
        return new FaultView(
                fault.number(),
                fault.type().word(),
                order.description(),
                scope.route(),
                scope.route() == null ? scope.backend() : backendOf(scope.route(), routes),
                scope.instance(),
                order.percent(),
                order.header(),
                order.value(),
                latency == null ? null : latency.toMillis(),
                order.status() == 0 ? null : order.status(),
                order.type() == FaultType.TRUNCATE ? order.afterBytes() : null,
                fault.calls(),
                fault.startedAt().toString(),
                fault.endsAt().toString(),
                fault.by());
    }

    private static @Nullable String backendOf(String route, Collection<RouteView> routes) {
        return routes.stream()
                .filter(view -> view.id().equals(route))
                .findFirst()
                .map(RouteView::backend)
                .orElse(null);
    }
}
