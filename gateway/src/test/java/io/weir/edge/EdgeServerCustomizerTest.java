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
}
