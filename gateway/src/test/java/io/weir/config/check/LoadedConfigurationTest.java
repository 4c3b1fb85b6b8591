package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.io.FileSystemResource;

/** A configuration is current only if a load would have the same result. */
class LoadedConfigurationTest {

    private static final String YAML = """
            x-defaults: &defaults { deadline: 1s }
            weir:
              backends:
                orders: { <<: *defaults, uri: "http://localhost:1" }
            spring.cloud.gateway.server.webflux:
              default-filters: ["AddRequestHeader=X-A, 1"]
              routes:
                - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"] }
            """;

    @TempDir
    private Path directory;

    private Path file;
    private String[] arguments;

    @BeforeEach
    void write() throws IOException {
        file = Files.writeString(directory.resolve("gateway.yml"), YAML);
        arguments = new String[] {
            "--spring.config.additional-location=file:" + file + ",optional:file:" + directory + "/more/",
            "--server.port=0"
        };
    }

    private LoadedConfiguration load() {
        return LoadedConfiguration.load(Map.of("a.default", "x"), arguments);
    }

    @Test
    void isCurrentUntilItsFileChanges() throws IOException {
        LoadedConfiguration first = load();
        assertThat(first.isCurrent()).isTrue();

        Files.writeString(file, YAML.replace("deadline: 1s", "deadline: 2s"));
        assertThat(first.isCurrent()).isFalse();
        assertThat(load().isCurrent()).isTrue();

        Files.writeString(file, YAML);
        assertThat(first.isCurrent()).isTrue();
    }

    /** A line more changes the lines in which the values stand. */
    @Test
    void isNotCurrentIfOnlyLinesMove() throws IOException {
        LoadedConfiguration first = load();
        Files.writeString(file, "# a line more\n" + YAML);

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithoutItsFile() throws IOException {
        LoadedConfiguration first = load();
        Files.delete(file);

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isCurrentWithSeveralDocuments() throws IOException {
        Files.writeString(file, "spring.application.name: x\n---\n" + YAML);

        assertThat(load().isCurrent()).isTrue();
    }

    @Test
    void isNotCurrentWithANewFile() throws IOException {
        Files.createDirectory(directory.resolve("more"));
        LoadedConfiguration first = load();
        Files.writeString(directory.resolve("more/application.yml"), "weir.backends.orders.deadline: 3s");

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithARemovedFile() throws IOException {
        Files.createDirectory(directory.resolve("more"));
        Files.writeString(directory.resolve("more/application.yml"), "weir.backends.orders.deadline: 3s");
        LoadedConfiguration first = load();
        Files.delete(directory.resolve("more/application.yml"));

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentAfterAChangeOfAnImportedFile() throws IOException {
        Path imported = Files.writeString(directory.resolve("more.yml"), "weir.backends.orders.deadline: 3s");
        Files.writeString(file, YAML + "spring.config.import: ['more.yml']\n");
        LoadedConfiguration first = load();
        Files.writeString(imported, "# shorter\nweir.backends.orders.deadline: 2s");

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentAfterAReplacementOfALink() throws IOException {
        Path versions = Files.createDirectory(directory.resolve("versions"));
        Path link = Files.createSymbolicLink(directory.resolve("data"), Files.createDirectory(versions.resolve("1")));
        Files.move(file, versions.resolve("1/gateway.yml"));
        Files.createSymbolicLink(file, Path.of("data/gateway.yml"));
        LoadedConfiguration first = load();
        Files.writeString(
                Files.createDirectory(versions.resolve("2")).resolve("gateway.yml"), YAML.replace("1s", "2s"));
        Files.delete(link);
        Files.createSymbolicLink(link, versions.resolve("2"));

        assertThat(first.isCurrent()).isFalse();
    }

    /** Spring Boot and the check see the same text, even if the file changes meanwhile. */
    @Test
    void readsAFileOnlyOnce() throws IOException {
        LoadedFile text = new LoadedFile(new FileSystemResource(file), Files.readString(file));
        Files.writeString(file, "weir: { }");

        assertThat(text.getContentAsString(StandardCharsets.UTF_8)).isEqualTo(YAML);
        assertThat(text).isEqualTo(new LoadedFile(new FileSystemResource(file), "weir: { }"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "optional:file:%s/*/",
                "optional:file:%s/none.yml,optional:configtree:%s/none/",
                "optional:file:%s/${weir.backends.orders.deadline}.yml"
            })
    void isNeverCurrentIfFilesAreUntracked(String imported) throws IOException {
        Files.writeString(
                file, YAML + "spring.config.import: [\"" + imported.replace("%s", directory.toString()) + "\"]\n");

        assertThat(load().isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithLocationPatterns() {
        arguments[0] += ",optional:file:" + directory + "/*/";

        assertThat(load().isCurrent()).isFalse();
    }

    /** As in {@code ./config}, whose subdirectories Spring Boot searches by default. */
    @Test
    void isNotCurrentWithNewSubdirectories() throws IOException {
        Path more = Files.createDirectory(directory.resolve("more"));
        Files.createDirectory(more.resolve("..data"));
        LoadedConfiguration first = load();
        assertThat(first.isCurrent()).isTrue();
        Files.createDirectory(more.resolve("data"));

        assertThat(first.isCurrent()).isFalse();
        assertThat(load().isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithANewProfileFile() throws IOException {
        arguments[1] = "--spring.profiles.active=other";
        LoadedConfiguration first = load();
        assertThat(first.isCurrent()).isTrue();
        Files.writeString(directory.resolve("gateway-other.yml"), "weir.backends.orders.deadline: 3s");

        assertThat(first.isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithOtherFileTypes() throws IOException {
        Path properties = Files.createDirectory(directory.resolve("more")).resolve("application.properties");
        Files.writeString(properties, "weir.backends.orders.deadline=3s");
        assertThat(load().isCurrent()).isFalse();

        Files.writeString(properties, "# empty");
        assertThat(load().isCurrent()).isFalse();
    }

    @Test
    void isNotCurrentWithAConfigTree() throws IOException {
        Path tree = Files.createDirectory(directory.resolve("tree"));
        Files.writeString(tree.resolve("weir.backends.orders.deadline"), "3s");
        arguments[1] = "--spring.config.import=configtree:" + tree + "/";

        assertThat(load().isCurrent()).isFalse();
    }
}
