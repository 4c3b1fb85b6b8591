package io.weir.apply;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.Backend;
import io.weir.engine.BackendObserver;
import io.weir.health.RouteHealth;
import io.weir.testing.ObservedGateway;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The healths of routes over reloads. */
class RouteHealthsTest {

    private final ObservedGateway fixture = new ObservedGateway();
    private final Backend orders = fixture.backend(BackendObserver.NONE);

    @AfterEach
    void close() {
        fixture.close();
    }

    private RouteHealths of(String... ids) {
        RouteHealths healths = new RouteHealths(route -> {});
        for (String id : ids) {
            healths.add(id, orders);
        }
        healths.add("elsewhere", null);
        return healths;
    }

    private List<RouteHealth> members() {
        return orders.health().role().routes().members();
    }

    @Test
    void givesTheOnlyRouteOfABackendNone() {
        RouteHealths healths = of("read");
        assertThat(healths.of("read", orders)).isNull();
        healths.apply(List.of(orders));
        assertThat(members()).isEmpty();
    }

    @Test
    void keepsTheStateOfARouteThatStays() {
        RouteHealths before = of("read", "write", "list");
        RouteHealth read = Objects.requireNonNull(before.of("read", orders));
        RouteHealth write = Objects.requireNonNull(before.of("write", orders));
        before.apply(List.of(orders));
        read.health().resilience4j().transitionToOpenState();

        RouteHealths after = of("read", "list");
        assertThat(after.of("read", orders)).isSameAs(read);
        after.apply(List.of(orders));

        assertThat(read.health().state()).isEqualTo(State.OPEN);
        assertThat(members()).contains(read).doesNotContain(write);
    }

    @Test
    void keepsNothingOfAConfigurationThatIsRejected() {
        assertThat(of("read", "write").of("read", orders)).isNotNull();

        assertThat(members()).isEmpty();
    }

    @Test
    void forgetsTheRoutesWhenOneIsLeft() {
        RouteHealths before = of("read", "write");
        assertThat(before.of("read", orders)).isNotNull();
        before.apply(List.of(orders));

        of("read").apply(List.of(orders));
        assertThat(members()).isEmpty();
    }
}
