package io.weir.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.context.annotation.ImportCandidates;

class UnusedAutoConfigurationsTest {

    private static final List<String> ALL =
            ImportCandidates.load(AutoConfiguration.class, null).getCandidates();

    @Test
    void leavesOutOnlyWhatALibraryHas() {
        assertThat(UnusedAutoConfigurations.UNUSED)
                .allSatisfy(beginning -> assertThat(ALL).anyMatch(name -> name.startsWith(beginning)));
    }

    @Test
    void leavesOutAQuarter() {
        assertThat(ALL.stream().filter(name -> !UnusedAutoConfigurations.isUsed(name)))
                .hasSizeBetween(ALL.size() / 5, ALL.size() / 3);
    }

    @Test
    void keepsWhatBackendsAndTheGeneralDoorNeed() {
        assertThat(ALL.stream().filter(UnusedAutoConfigurations::isUsed))
                .contains(
                        "org.springframework.cloud.client.discovery.composite.reactive"
                                + ".ReactiveCompositeDiscoveryClientAutoConfiguration",
                        "org.springframework.cloud.client.discovery.simple.reactive"
                                + ".SimpleReactiveDiscoveryClientAutoConfiguration",
                        "org.springframework.cloud.gateway.config.GatewayAutoConfiguration",
                        "io.github.resilience4j.springboot.circuitbreaker.autoconfigure"
                                + ".CircuitBreakerAutoConfiguration");
    }
}
