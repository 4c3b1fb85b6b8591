package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * One of two routes of a backend becomes slower than the stall time, with the real engine in virtual time. It
 * answers within the deadline, so it is no outage, and its sibling must not notice it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("simulation")
class SlowRoutesScenarioTest {

    private static final Duration DEADLINE = Duration.ofSeconds(2);
    private static final Duration STALL = DEADLINE.dividedBy(2);
    private static final int AMPLE = 1000;
    private static final double SECOND = TimeUnit.SECONDS.toNanos(1);

    /** Two routes of a backend of some instances, and the openings of the one that becomes slow. */
    private static final class Routes {

        final InstancesSimulation simulation;
        final Route slow;
        final Route sibling;
        private final Random random;
        private final int perSecond;
        private final int percent;
        int openings;

        /** Routes that have been answered for some seconds. */
        Routes(int instances, int limit, int perSecond, int percent, long seed) {
            simulation = new InstancesSimulation(instances, DEADLINE, limit, seed);
            List<Route> routes = simulation.routesApart("slow", "sibling");
            slow = routes.getFirst();
            sibling = routes.getLast();
            random = new Random(seed);
            this.perSecond = perSecond;
            this.percent = percent;
            Objects.requireNonNull(slow.health())
                    .health()
                    .resilience4j()
                    .getEventPublisher()
                    .onStateTransition(
                            event -> openings += event.getStateTransition().getToState() == State.OPEN ? 1 : 0);
            run(4);
            assertThat(simulation.failed()).as("lost in calm traffic").isZero();
            simulation.endings.clear();
        }

        /** Callers arrive at random moments. */
        void run(double seconds) {
            double end = simulation.now() + seconds * SECOND;
            while (simulation.now() < end) {
                simulation.call(random.nextInt(100) < percent ? slow : sibling);
                double pause = -Math.log(1 - random.nextDouble()) / perSecond;
                simulation.advance(Duration.ofNanos((long) (pause * SECOND)));
            }
        }

        /** The route becomes slow, for some time. */
        void slowDown(int millis, double seconds) {
            simulation.routeFaults.slowDown(slow, Duration.ofMillis(millis));
            run(seconds);
        }

        boolean isOpen() {
            return Objects.requireNonNull(slow.health()).health().state() == State.OPEN;
        }

        long lost(Route route) {
            return simulation.endings.stream()
                    .filter(ending -> ending.route().equals(route.id()) && !ending.isAnswered())
                    .count();
        }

        long calls(Route route) {
            return simulation.endings.stream()
                    .filter(ending -> ending.route().equals(route.id()))
                    .count();
        }

        void assertNothingHeld() {
            simulation.advance(DEADLINE);
            assertThat(simulation.bulkhead.inUse()).as("permits").isZero();
        }
    }

    private static List<Arguments> cells() {
        List<Arguments> cells = new ArrayList<>();
        for (int millis : List.of(1200, 1500, 1800)) {
            for (int perSecond : List.of(20, 100, 300)) {
                for (int percent : List.of(10, 50, 85)) {
                    cells.add(Arguments.of(millis, perSecond, percent));
                }
            }
        }
        return cells;
    }

    /** Calls of the slow route are refused only until its first answer. */
    @ParameterizedTest
    @MethodSource("cells")
    void opensAtMostOnceAndCostsItsSiblingNothing(int millis, int perSecond, int percent) {
        for (int instances : List.of(1, 3)) {
            Routes routes = new Routes(instances, AMPLE, perSecond, percent, 1);
            routes.slowDown(millis, 15);

            assertThat(routes.openings).as("openings").isLessThanOrEqualTo(1);
            assertThat(routes.lost(routes.sibling)).as("lost by the sibling").isZero();
            assertThat(routes.lost(routes.slow))
                    .as("lost by the slow route")
                    .isLessThanOrEqualTo(8 + (long) (perSecond * percent / 100.));
            routes.assertNothingHeld();
        }
    }

    /** The limit has yet to grow by a factor of up to 50; the calls of the slow route are those to wait. */
    @ParameterizedTest
    @MethodSource("cells")
    void opensAtMostOnceUnderAnAdaptiveLimitToo(int millis, int perSecond, int percent) {
        long calls = 0;
        long lost = 0;
        for (long seed = 1; seed <= 3; seed++) {
            for (int instances : List.of(1, 3)) {
                Routes routes = new Routes(instances, TrafficSimulation.AUTO, perSecond, percent, seed);
                routes.slowDown(millis, 15);

                assertThat(routes.openings).as("openings").isLessThanOrEqualTo(1);
                // A route at the edge of the stall time may be slow without an opening.
                if (routes.openings == 1) {
                    calls += routes.calls(routes.sibling);
                    lost += routes.lost(routes.sibling);
                }
                routes.assertNothingHeld();
            }
        }
        assertThat((double) lost).as("lost by the sibling of " + calls).isLessThanOrEqualTo(0.03 * calls);
    }

    /** The slow answer has made the stall time as long as the deadline. */
    @ParameterizedTest
    @CsvSource({"1, 100", "1, 300", "3, 100", "3, 300"})
    void aHangOfASlowRouteOpensAtItsDeadline(int instances, int perSecond) {
        Routes routes = new Routes(instances, AMPLE, perSecond, 50, 1);
        routes.slowDown(1500, 10);
        assertThat(routes.isOpen()).isFalse();

        routes.simulation.routeFaults.set(routes.slow, Fault.HANG);
        routes.run(1.5 + 2 + 0.5);
        assertThat(routes.isOpen()).isTrue();
        assertThat(routes.lost(routes.sibling)).as("lost by the sibling").isZero();
    }

    @ParameterizedTest
    @CsvSource({"1, 100", "1, 300", "3, 100", "3, 300"})
    void aHangOfARouteThatIsFastAgainOpensAtTheStallTime(int instances, int perSecond) {
        Routes routes = new Routes(instances, AMPLE, perSecond, 50, 1);
        routes.slowDown(1500, 10);
        routes.simulation.routeFaults.heal(routes.slow);
        routes.run(5);
        assertThat(Objects.requireNonNull(routes.slow.health()).isSlow()).isFalse();
        routes.simulation.endings.clear();
        routes.run(5);
        routes.simulation.advance(DEADLINE);
        assertThat(routes.simulation.endings).allMatch(Ending::isAnswered);

        routes.simulation.routeFaults.set(routes.slow, Fault.HANG);
        routes.run(STALL.toMillis() / 1000. + 0.5);
        assertThat(routes.isOpen()).isTrue();
        assertThat(routes.lost(routes.sibling)).as("lost by the sibling").isZero();
    }
}
