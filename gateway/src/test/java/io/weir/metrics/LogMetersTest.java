package io.weir.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.weir.testing.ObservedGateway;
import org.junit.jupiter.api.Test;

class LogMetersTest {

    @Test
    void showTheDroppedLines() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();

        LogMeters.show(new MeterBook(registry), () -> 7);

        assertThat(ObservedGateway.value(registry, GatewayMeter.LOG_DROPPED)).isEqualTo(7);
    }
}
