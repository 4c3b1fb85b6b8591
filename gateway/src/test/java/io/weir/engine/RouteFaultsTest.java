package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import io.weir.health.Health;
import io.weir.outcome.Reason;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One of three routes of a backend fails, hangs, is reset or becomes slow, on one and on three instances,
 * with the real engine and an adaptive limit in virtual time.
 */
class RouteFaultsTest {

    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Duration INTERVAL = Duration.ofMillis(10);
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final List<Integer> PERCENT = List.of(10, 44, 60, 85);

    private final Random random = new Random(1);

    /** Either simulation. */
    private record Traffic(
            List<Route> routes,
            RouteFaults faults,
            Health health,
            List<Ending> endings,
            Consumer<Route> call,
            Consumer<Duration> advance) {

        static Traffic to(int instances) {
            String[] ids = {"bad", "first", "second"};
            if (instances == 1) {
                TrafficSimulation one = new TrafficSimulation(DEADLINE, TrafficSimulation.AUTO, 10, 1);
                return new Traffic(
                        one.routesApart(ids),
                        one.routeFaults,
                        one.health,
                        one.endings,
                        route -> one.call(route, false),
                        one::advance);
            }
            InstancesSimulation all = new InstancesSimulation(instances, DEADLINE, TrafficSimulation.AUTO, 1);
            return new Traffic(all.routesApart(ids), all.routeFaults, all.health, all.endings, all::call, all::advance);
        }

        Route bad() {
            return routes.getFirst();
        }
    }

    private static Stream<Arguments> cells(List<?> kinds) {
        return kinds.stream()
                .flatMap(kind -> PERCENT.stream()
                        .flatMap(percent -> Stream.of(1, 3).map(instances -> Arguments.of(kind, percent, instances))));
    }

    private static Stream<Arguments> failures() {
        return cells(List.of(Fault.ERRORS, Fault.RESET, Fault.HANG));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void refusesTheBadRouteAndNoOther(Fault fault, int percent, int instances) {
        Traffic traffic = Traffic.to(instances);
        run(traffic, percent, 4);
        traffic.faults.set(traffic.bad(), fault);
        run(traffic, percent, 10);
        // The window needs twenty calls; a stall its duration.
        long known = traffic.endings.getLast().endedAt() - 5 * SECOND;
        run(traffic, percent, 5);
        traffic.faults.heal(traffic.bad());
        long healedAt = traffic.endings.getLast().endedAt();
        run(traffic, percent, 5);
        traffic.advance.accept(DEADLINE);

        assertThat(traffic.endings)
                .filteredOn(ending -> !ending.route().equals("bad"))
                .allMatch(Ending::isAnswered);
        assertThat(traffic.endings)
                .filteredOn(ending -> ending.route().equals("bad")
                        && ending.arrivedAt() > known
                        && ending.arrivedAt() <= healedAt - SECOND / 10)
                .isNotEmpty()
                .allMatch(ending -> ending.reason() == Reason.CIRCUIT_OPEN);
        assertThat(traffic.endings)
                .filteredOn(
                        ending -> ending.route().equals("bad") && ending.arrivedAt() > healedAt + SECOND + SECOND / 2)
                .isNotEmpty()
                .allMatch(Ending::isAnswered);
        assertThat(traffic.health.state()).isEqualTo(State.CLOSED);
    }

    /** Left out: many calls that take a fifth of the deadline or more from one moment to the next. */
    private static Stream<Arguments> slow() {
        return Stream.concat(
                cells(List.of(Duration.ofMillis(200))),
                Stream.of(1, 3).map(instances -> Arguments.of(Duration.ofSeconds(1), 10, instances)));
    }

    @ParameterizedTest
    @MethodSource("slow")
    void answersTheSiblingsOfARouteThatBecomesSlow(Duration service, int percent, int instances) {
        Traffic traffic = Traffic.to(instances);
        run(traffic, percent, 4);
        traffic.faults.slowDown(traffic.bad(), service);
        run(traffic, percent, 15);
        traffic.advance.accept(DEADLINE);

        assertThat(traffic.endings)
                .filteredOn(ending -> !ending.route().equals("bad"))
                .allMatch(Ending::isAnswered);
        assertThat(traffic.health.state()).isEqualTo(State.CLOSED);
    }

    private void run(Traffic traffic, int percent, int seconds) {
        for (long left = seconds * SECOND; left > 0; left -= INTERVAL.toNanos()) {
            boolean isBad = random.nextInt(100) < percent;
            traffic.call.accept(traffic.routes.get(isBad ? 0 : 1 + random.nextInt(2)));
            traffic.advance.accept(INTERVAL);
        }
    }
}
