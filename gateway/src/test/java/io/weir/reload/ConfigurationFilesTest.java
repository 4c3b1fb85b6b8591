package io.weir.reload;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.ConfigurationReader;
import io.weir.config.check.ConfigurationSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;

/** When the files of a configuration are kept, and checked again. */
class ConfigurationFilesTest {

    /** Each check resolves it, so a check after its change finds a problem. */
    private static final String DEADLINE = "configuration-files-test-deadline";

    @TempDir
    private Path directory;

    @AfterEach
    void clear() {
        System.clearProperty(DEADLINE);
    }

    private ConfigurationReader reader(String yaml) throws IOException {
        Path file = Files.writeString(directory.resolve("gateway.yml"), yaml);
        return new ConfigurationReader(
                new StandardReactiveWebEnvironment(), "--spring.config.additional-location=file:" + file);
    }

    private static String yaml(String deadline) {
        return """
                weir:
                  backends:
                    orders: { uri: "http://localhost:1", deadline: "%s" }
                spring.cloud.gateway.server.webflux.routes:
                  - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
                """.formatted(deadline);
    }

    private Path keep(ConfigurationReader reader, ConfigurationSnapshot start) {
        Path kept = directory.resolve("kept");
        new ConfigurationFiles(start, reader, KeptConfigurations.in(kept)).keepIfUnchanged(start, start.hash());
        return kept;
    }

    @Test
    void keepsUnchangedFilesWithoutAnotherCheck() throws IOException {
        System.setProperty(DEADLINE, "1s");
        ConfigurationReader reader = reader(yaml("${" + DEADLINE + "}"));
        ConfigurationSnapshot start = reader.get();
        assertThat(start.report().problems()).isEmpty();
        System.setProperty(DEADLINE, "soon");
        assertThat(reader.get().report().problems()).isNotEmpty();

        assertThat(keep(reader, start)).isNotEmptyDirectory();
    }

    @Test
    void keepsOtherSourcesWithTheSameValues() throws IOException {
        ConfigurationSnapshot start = reader(yaml("1s")).get();

        assertThat(keep(reader("# another line\n" + yaml("1s")), start)).isNotEmptyDirectory();
    }

    @Test
    void keepsNoInvalidFilesWithTheSameValues() throws IOException {
        ConfigurationSnapshot start = reader(yaml("1s")).get();

        assertThat(keep(reader(yaml("1s") + "spring.cloud: { }\nspring.cloud: { }\n"), start))
                .doesNotExist();
    }

    @Test
    void keepsNoOtherValues() throws IOException {
        ConfigurationSnapshot start = reader(yaml("1s")).get();

        assertThat(keep(reader(yaml("2s")), start)).doesNotExist();
    }
}
