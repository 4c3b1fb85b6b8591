package io.weir.edge;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OpenFilesTest {

    @ParameterizedTest
    @CsvSource({"1048576, 512", "4096, 512", "2048, 256", "1024, 128", "64, 16", "9223372036854775807, 512"})
    void theManagementPortTakesAtMostAnEighthOfTheFiles(long maxFiles, int connections) {
        assertThat(new OpenFiles(maxFiles).management()).isEqualTo(connections);
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
        assertThat(new OpenFiles(maxFiles).callers(configured)).isEqualTo(connections);
    }

    @ParameterizedTest
    @CsvSource({"2000, 1048576, 2000", "2000, 4096, 256", "100, 1024, 64", "100, 9223372036854775807, 100"})
    void theRedirectPortTakesAtMostASixteenthOfTheFiles(int configured, long maxFiles, int connections) {
        assertThat(new OpenFiles(maxFiles).redirects(configured)).isEqualTo(connections);
    }

    @ParameterizedTest
    @CsvSource({
        "20000, 1048576, , 1027040",
        "20000, 4096, , 1280",
        "20000, 4096, 8080, 1024",
        "100, 4096, , 3228",
        "20000, 1024, , 320",
        "20000, 1024, 8080, 256",
        "20000, 64, , 16",
        "20000, 9223372036854775807, , 2147483647"
    })
    void backendsGetTheRestOfTheFiles(int callers, long maxFiles, Integer redirectPort, int connections) {
        TestEdgeProperties edge = new TestEdgeProperties();
        edge.maxConnections = callers;
        edge.redirectPort = redirectPort;

        assertThat(new OpenFiles(maxFiles).backends(edge.properties())).isEqualTo(connections);
    }

    @Test
    void knowsTheLimitOfThisProcess() {
        assertThat(OpenFiles.ofProcess().limit()).isGreaterThan(100);
    }
}
