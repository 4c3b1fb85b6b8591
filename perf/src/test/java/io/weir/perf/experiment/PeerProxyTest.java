package io.weir.perf.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.Host;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class PeerProxyTest {

    private static final Path PEERS = Path.of("peers").toAbsolutePath();
    private static final PeerProxy.Places PLACES =
            new PeerProxy.Places(39_101, 39_102, 39_103, 39_104, 39_105, 1, 1000);

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"weir.yml", "plain-gateway.yml", "haproxy.cfg", "nginx.conf", "envoy.yaml"})
    void fillsInAllPlaces(String file) throws Exception {
        String text = Files.readString(PeerProxy.fill(PEERS, file, PLACES, directory));

        assertThat(text).doesNotContain("${PORT", "_PORT}", "${CORES}", "${DIR}", "${EXCHANGES}", "${CONNECTIONS}");
        assertThat(text)
                .contains("39101", "39103", "39104", "39105")
                .as("limits")
                .contains("64", "10", "400");
    }

    @ParameterizedTest
    @EnumSource(names = {"HAPROXY", "NGINX", "ENVOY"})
    void namesTheInstallCommand(PeerProxy peer) {
        assertThat(peer.missingSentence())
                .matches(peer.label() + " is left out, since it is not installed: (apt-get|pip) install .+");
    }

    /** The program checks its configuration, if it is installed. */
    @ParameterizedTest
    @EnumSource(names = {"HAPROXY", "NGINX", "ENVOY"})
    void configurationIsAcceptedByItsProgram(PeerProxy peer) throws Exception {
        if (!peer.isInstalled()) {
            return;
        }
        String file = PeerProxy.fill(PEERS, peer.file(), PLACES, directory).toString();
        List<String> command =
                switch (peer) {
                    case HAPROXY -> List.of("haproxy", "-c", "-q", "-f", file);
                    case NGINX -> List.of("nginx", "-t", "-p", directory.toString(), "-e", "stderr", "-c", file);
                    default -> List.of("envoy", "--mode", "validate", "-c", file);
                };
        File output = directory.resolve("output").toFile();

        assertThat(new ProcessBuilder(Host.withOpenFiles(PeerProxy.OPEN_FILES, command))
                        .redirectErrorStream(true)
                        .redirectOutput(output)
                        .start()
                        .waitFor())
                .as(() -> read(output))
                .isZero();
    }

    @Test
    void raisesTheLimitOfOpenFiles() throws Exception {
        File output = directory.resolve("output").toFile();

        new ProcessBuilder(Host.withOpenFiles(64, List.of("sh", "-c", "ulimit -n; echo \"$0 $1\"", "a b", "c")))
                .redirectOutput(output)
                .start()
                .waitFor();

        assertThat(read(output).lines()).containsExactly("64", "a b c");
    }

    private static String read(File file) {
        try {
            return Files.readString(file.toPath());
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** A machine that is slow for a round is slow for both. */
    @Test
    void comparesPeersWithinARound() {
        assertThat(PeerRates.ratio(List.of(100.0, 50.0, 110.0), List.of(200.0, 100.0, 100.0)))
                .isEqualTo(0.5);
    }

    @Test
    void busyPercentCountsOnlyTheTimeUnderLoad() {
        assertThat(PeerRates.busyPercent(Duration.ofSeconds(6), 3, 2)).isEqualTo(100);
        assertThat(PeerRates.busyPercent(Duration.ofMillis(1500), 3, 1)).isEqualTo(50);
    }

    @Test
    void configuresMoreConnectionsThanNginxUses() throws Exception {
        String text = Files.readString(PeerProxy.fill(PEERS, "nginx.conf", PLACES, directory));

        // nginx closes callers' connections when a sixteenth is left.
        assertThat(text).contains("worker_connections 1125;");
        assertThat(PLACES.connections() * 15 / 16).isGreaterThan(2 * PLACES.exchanges());
    }

    @Test
    void allPeersHaveTheSameDeadline() throws Exception {
        for (Map.Entry<String, String> deadline : Map.of(
                        "weir.yml", "deadline: 800ms",
                        "plain-gateway.yml", "timeout-duration: 800ms",
                        "haproxy.cfg", "timeout server 800ms",
                        "nginx.conf", "proxy_read_timeout 800ms",
                        "envoy.yaml", "timeout: 0.8s")
                .entrySet()) {
            assertThat(Files.readString(PEERS.resolve(deadline.getKey()))).contains(deadline.getValue());
        }
    }
}
