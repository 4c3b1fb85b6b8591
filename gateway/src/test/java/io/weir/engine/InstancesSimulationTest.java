package io.weir.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.engine.TrafficSimulation.Ending;
import io.weir.engine.TrafficSimulation.Fault;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class InstancesSimulationTest {

    private static final long SEED = 1;

    @Test
    void repeatsEachCallAtItsMomentForASeed() {
        assertThat(oneHangs()).isEqualTo(oneHangs());
    }

    /** The limit is adaptive: its probes depend on the clock. */
    private static List<Ending> oneHangs() {
        InstancesSimulation simulation =
                new InstancesSimulation(3, Duration.ofMillis(800), TrafficSimulation.AUTO, SEED);
        simulation.replicas.forEach(replica -> replica.workers = 10);
        simulation.traffic(1600, Duration.ofSeconds(3));
        simulation.replicas.getFirst().fault = Fault.HANG;
        simulation.traffic(200, Duration.ofSeconds(3));
        return simulation.endings;
    }
}
