package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EdgeServerCustomizerTest {

    @ParameterizedTest
    @CsvSource({"1048576, 512", "4096, 512", "2048, 256", "1024, 128", "64, 16", "9223372036854775807, 512"})
    void theManagementPortTakesAtMostAnEighthOfTheFiles(long maxFiles, int connections) {
        assertThat(EdgeServerCustomizer.managementConnections(maxFiles)).isEqualTo(connections);
    }

    @ParameterizedTest
    @CsvSource({
        "20000, 1048576, 20000",
        "20000, 40000, 20000",
        "20000, 4096, 2048",
        "20000, 1024, 512",
        "100, 1024, 100",
        "20000, 16, 16",
        "10000000, 9223372036854775807, 10000000"
    })
    void callersTakeAtMostHalfOfTheFiles(int configured, long maxFiles, int connections) {
        assertThat(EdgeServerCustomizer.registry(
                                configured, 2, maxFiles, "weir.edge.max-connections", ClientLimits.ofConnections(1, ""))
                        .limit())
                .isEqualTo(connections);
    }
}
