package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.weir.capacity.CapacitySignalProperties;
import io.weir.engine.InstancesSimulation.Replica;
import io.weir.engine.TrafficSimulation.Ending;
import io.weir.limit.LimitBounds;
import io.weir.limit.LimitSettings;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * Two instances of different capacity, which they state, at four times what both can do: 50 and 20 calls/s.
 */
class CapacityScenarioTest {

    private static final String FIELD = "weir-capacity";
    private static final Duration DEADLINE = Duration.ofMillis(800);
    private static final Duration OVERLOAD = Duration.ofSeconds(20);
    private static final int CAPACITY = 70;

    private final InstancesSimulation simulation = new InstancesSimulation(2, DEADLINE, TrafficSimulation.AUTO, 1);
    private final Replica fast = simulation.replicas.getFirst();
    private final Replica slow = simulation.replicas.getLast();

    CapacityScenarioTest() {
        simulation.limitInForce.stateBy(simulation.instances::statedLimit);
        simulation.limitInForce.configure(
                LimitSettings.adaptive(LimitBounds.DEFAULT, LimitSettings.AUTO, DEADLINE.toNanos())
                        .withSignal(true));
        fast.workers = 1;
        fast.service = Duration.ofMillis(20);
        slow.workers = 4;
        slow.service = Duration.ofMillis(200);
    }

    /** States a number with each answer. */
    private void states(Replica replica, int calls) {
        replica.instance.capacity().signal().configure(new CapacitySignalProperties(FIELD, null));
        replica.answerNanos = () -> {
            replica.instance.readCapacity(new DefaultHttpHeaders().set(FIELD, calls), simulation.now());
            simulation.limitInForce.update();
            return replica.service.toNanos();
        };
    }

    /** The answers in an overload, as a share of what the instances can do. */
    private double goodput() {
        simulation.traffic(CAPACITY / 2, Duration.ofSeconds(5));
        simulation.endings.clear();
        simulation.traffic(4 * CAPACITY, OVERLOAD);
        double share =
                (double) simulation.endings.stream().filter(Ending::isAnswered).count()
                        / (CAPACITY * OVERLOAD.toSeconds());
        System.out.printf(
                "goodput %.3f; most at once %d and %d; limit %d%n",
                share, fast.mostInside, slow.mostInside, simulation.limitInForce.inForce());
        return share;
    }

    @Test
    void givesEachInstanceWhatItStates() {
        states(fast, 1);
        states(slow, 4);
        assertThat(goodput()).isGreaterThanOrEqualTo(.95);
        assertThat(simulation.limitInForce.inForce()).isEqualTo(5);
        assertThat(simulation.hasOpened).isFalse();
    }

    @Test
    void sharesTheLearntLimitAmongTheOthers() {
        states(slow, 4);
        goodput();
        assertThat(simulation.limitInForce.inForce()).isGreaterThan(4);
    }

    @Test
    void leavesAnInstanceThatIsOutOutOfTheSum() {
        states(fast, 1);
        states(slow, 4);
        goodput();
        slow.instance.health().operator().drain();
        assertThat(simulation.limitInForce.inForce()).isEqualTo(1);
    }

    @Test
    void forgetsWhatNobodyStatesAnyMore() {
        states(fast, 1);
        states(slow, 4);
        goodput();
        fast.answerNanos = null;
        slow.answerNanos = null;
        simulation.traffic(CAPACITY / 2, Duration.ofNanos(TimeUnit.SECONDS.toNanos(11)));
        assertThat(simulation.limitInForce.stated()).isZero();
    }
}
