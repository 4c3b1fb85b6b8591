package io.weir.perf.run;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class PeerProxyTest {

    private static final Path PEERS = Path.of("peers").toAbsolutePath();
    private static final PeerProxy.Places PLACES =
            new PeerProxy.Places(39_101, 39_102, 39_103, 39_104, 39_105, 1, 1000);

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"weir.yml", "plain-gateway.yml", "haproxy.cfg", "nginx.conf", "envoy.yaml"})
    void fillsInAllPlaces(String file) throws Exception {
        String text = Files.readString(write(file));

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
    @CsvSource({
        "HAPROXY, haproxy.cfg",
        "HAPROXY, haproxy-limit.cfg",
        "HAPROXY, haproxy-instances.cfg",
        "HAPROXY, haproxy-priorities.cfg",
        "HAPROXY, haproxy-tenants.cfg",
        "NGINX, nginx.conf",
        "ENVOY, envoy.yaml",
        "ENVOY, envoy-adaptive.yaml",
        "ENVOY, envoy-instances.yaml",
        "ENVOY, envoy-priorities.yaml",
        "ENVOY, envoy-tenants.yaml"
    })
    void configurationIsAcceptedByItsProgram(PeerProxy peer, String template) throws Exception {
        if (!peer.isInstalled()) {
            return;
        }
        String file = write(template).toString();
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

    private Path write(String file) {
        Map<String, Object> values = new TreeMap<>(PLACES.values(directory));
        values.putAll(Map.of("BACKEND_PORT", 39_106, "QUEUE_MILLIS", 100, "LIMIT", 64));
        values.putAll(Map.of("INSTANCE_1", 39_107, "INSTANCE_2", 39_108, "INSTANCE_3", 39_109));
        return PeerProxy.write(PEERS.resolve(file), values, directory);
    }

    private static String read(File file) {
        try {
            return Files.readString(file.toPath());
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @Test
    void configuresMoreConnectionsThanNginxUses() throws Exception {
        String text = Files.readString(write("nginx.conf"));

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
