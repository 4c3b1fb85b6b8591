package io.weir.perf.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.perf.run.Host;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

/** The built gateway, extracted, with an AOT cache: it starts in a third of the time. */
final class CachedGateway {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** The built gateway. */
    static final Path BUILT = ROOT.resolve("gateway/target/weir-gateway.jar");

    static final String CONFIGURATION = ROOT.resolve("config/local.yml").toString();

    private static @Nullable Path jar;

    private CachedGateway() {}

    /** Made for the first test that needs it. */
    static synchronized Path jar() throws Exception {
        Path made = jar;
        if (made == null) {
            made = make(Path.of("target/cached-gateway").toAbsolutePath());
            jar = made;
        }
        return made;
    }

    private static Path make(Path directory) throws Exception {
        FileSystemUtils.deleteRecursively(directory);
        run("-Djarmode=tools", "-jar", BUILT.toString(), "extract", "--destination", directory.toString());
        Path extracted = directory.resolve("weir-gateway.jar");
        List<String> training = new ArrayList<>(Scenario.SHORT_LIVED);
        training.addAll(List.of(
                "-XX:AOTCacheOutput=" + directory.resolve(Scenario.CACHE),
                "-Dspring.context.exit=onRefresh",
                "-jar",
                extracted.toString(),
                CONFIGURATION,
                "--server.port=0",
                "--management.server.port=0"));
        run(training.toArray(String[]::new));
        assertThat(directory.resolve(Scenario.CACHE)).exists();
        return extracted;
    }

    private static void run(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(Host.java()));
        command.addAll(List.of(arguments));
        Path log = Files.createTempFile("gateway", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            assertThat(process.waitFor()).as(() -> command + ": " + read(log)).isZero();
        } finally {
            Files.delete(log);
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
