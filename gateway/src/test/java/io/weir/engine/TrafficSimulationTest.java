package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.TrafficSimulation.Ending;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class TrafficSimulationTest {

    private static final long SEED = 1;

    @Test
    void repeatsEachCallAtItsMomentForASeed() {
        assertThat(slowCalls()).isEqualTo(slowCalls());
    }

    /** The limit is adaptive: its probes depend on the clock. */
    private static List<Ending> slowCalls() {
        TrafficSimulation simulation = new TrafficSimulation(Duration.ofSeconds(2), TrafficSimulation.AUTO, 10, SEED);
        simulation.service = Duration.ofMillis(100);
        simulation.traffic(1, Duration.ofMillis(5), Duration.ofSeconds(5));
        return simulation.endings;
    }
}
