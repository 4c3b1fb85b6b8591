package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.origin.OriginLookup;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.io.FileSystemResource;

/**
 * Reloading only the changed files has the same result as a complete load. Where it could differ, a complete
 * load is requested.
 */
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

    /** The content of all sources in their order. */
    private static List<String> all(LoadedConfiguration loaded) {
        List<String> all = new ArrayList<>();
        for (PropertySource<?> source : loaded.sources().environment().getPropertySources()) {
            if (ConfigurationPropertySources.isAttachedConfigurationPropertySource(source)) {
                // This source repeats the others; its position does not matter.
                continue;
            }
            all.add(source.getName());
            if (source instanceof EnumerablePropertySource<?> known
                    && !source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME)) {
                for (String name : known.getPropertyNames()) {
                    all.add(name + '=' + known.getProperty(name) + " at " + OriginLookup.getOrigin(known, name));
                }
            }
        }
        ConfigurationSnapshot snapshot = new ConfigurationSnapshot(loaded.sources(), List.of());
        all.addAll(List.of(loaded.sources().environment().getActiveProfiles()));
        all.add(snapshot.report().lines());
        all.add(snapshot.files().toString());
        snapshot.values().forEach(value -> all.add(value.toString()));
        return all;
    }

    @ParameterizedTest
    @CsvSource({
        "deadline: 1s, deadline: 2s",
        "deadline: 1s, dead-line: 2s",
        "'<<: *defaults, ', ''",
        "'    orders:', '    stock: { uri: \"http://localhost:2\" }\n    orders:'",
        "'  backends:', '# a line more\n  backends:'",
        "/orders/**, /v2/orders/**",
        "'X-A, 1', 'X-B, 2'"
    })
    void reloadsOnlyChangedFilesIfSpringBootDoesNotDependOnTheChange(String from, String to) throws IOException {
        LoadedConfiguration first = load();
        Files.writeString(file, YAML.replace(from, to));

        LoadedConfiguration reloaded = first.reloadChangedFiles().orElseThrow();

        assertThat(all(reloaded)).isEqualTo(all(load()));
        Files.writeString(file, YAML);
        assertThat(all(reloaded.reloadChangedFiles().orElseThrow())).isEqualTo(all(first));
    }

    @Test
    void hasTheSameResultWithoutAChange() {
        LoadedConfiguration first = load();

        assertThat(all(first.reloadChangedFiles().orElseThrow())).isEqualTo(all(first));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "spring.profiles.active: other",
                "spring.config.import: 'optional:file:other.yml'",
                "logging.level.root: debug",
                "weir.edge.max-body-size: 1MB",
                "weir.backends.orders.connection.ssl-bundle: '{cipher}1234'",
                "weir: { backends: { } }",
                "---\nweir.backends.other.uri: http://localhost:2",
                "weir: [",
                "- 1",
                "weir.backends.orders.deadline: 010"
            })
    void needsACompleteLoadForOtherChanges(String more) throws IOException {
        LoadedConfiguration first = load();
        Files.writeString(file, YAML + more + '\n');

        assertThat(first.reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadAfterAFileWithSeveralDocuments() throws IOException {
        Files.writeString(file, "spring.application.name: x\n---\n" + YAML);
        LoadedConfiguration first = load();
        Files.writeString(file, YAML);

        assertThat(first.reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForANewFile() throws IOException {
        Files.createDirectory(directory.resolve("more"));
        LoadedConfiguration first = load();
        Files.writeString(directory.resolve("more/application.yml"), "weir.backends.orders.deadline: 3s");

        assertThat(first.reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForARemovedFile() throws IOException {
        Files.createDirectory(directory.resolve("more"));
        Files.writeString(directory.resolve("more/application.yml"), "weir.backends.orders.deadline: 3s");
        LoadedConfiguration first = load();
        Files.delete(directory.resolve("more/application.yml"));

        assertThat(first.reloadChangedFiles()).isEmpty();
    }

    @Test
    void reloadsAnImportedFile() throws IOException {
        Path imported = Files.writeString(directory.resolve("more.yml"), "weir.backends.orders.deadline: 3s");
        Files.writeString(file, YAML + "spring.config.import: ['more.yml']\n");
        LoadedConfiguration first = load();
        Files.writeString(imported, "# shorter\nweir.backends.orders.deadline: 2s");

        assertThat(all(first.reloadChangedFiles().orElseThrow())).isEqualTo(all(load()));
    }

    @Test
    void reloadsThroughAReplacedLink() throws IOException {
        Path versions = Files.createDirectory(directory.resolve("versions"));
        Path link = Files.createSymbolicLink(directory.resolve("data"), Files.createDirectory(versions.resolve("1")));
        Files.move(file, versions.resolve("1/gateway.yml"));
        Files.createSymbolicLink(file, Path.of("data/gateway.yml"));
        LoadedConfiguration first = load();
        Files.writeString(
                Files.createDirectory(versions.resolve("2")).resolve("gateway.yml"), YAML.replace("1s", "2s"));
        Files.delete(link);
        Files.createSymbolicLink(link, versions.resolve("2"));

        assertThat(all(first.reloadChangedFiles().orElseThrow())).isEqualTo(all(load()));
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
    void needsACompleteLoadIfFilesAreUntracked(String imported) throws IOException {
        Files.writeString(
                file, YAML + "spring.config.import: [\"" + imported.replace("%s", directory.toString()) + "\"]\n");

        assertThat(load().reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForLocationPatterns() {
        arguments[0] += ",optional:file:" + directory + "/*/";

        assertThat(load().reloadChangedFiles()).isEmpty();
    }

    /** As in {@code ./config}, whose subdirectories Spring Boot searches by default. */
    @Test
    void needsACompleteLoadForNewSubdirectories() throws IOException {
        Path more = Files.createDirectory(directory.resolve("more"));
        Files.createDirectory(more.resolve("..data"));
        LoadedConfiguration first = load();
        assertThat(first.reloadChangedFiles()).isPresent();
        Files.createDirectory(more.resolve("data"));

        assertThat(first.reloadChangedFiles()).isEmpty();
        assertThat(load().reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForANewProfileFile() throws IOException {
        arguments[1] = "--spring.profiles.active=other";
        LoadedConfiguration first = load();
        assertThat(first.reloadChangedFiles()).isPresent();
        Files.writeString(directory.resolve("gateway-other.yml"), "weir.backends.orders.deadline: 3s");

        assertThat(first.reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForOtherFileTypes() throws IOException {
        Path properties = Files.createDirectory(directory.resolve("more")).resolve("application.properties");
        Files.writeString(properties, "weir.backends.orders.deadline=3s");
        assertThat(load().reloadChangedFiles()).isEmpty();

        Files.writeString(properties, "# empty");
        assertThat(load().reloadChangedFiles()).isEmpty();
    }

    @Test
    void needsACompleteLoadForAConfigTree() throws IOException {
        Path tree = Files.createDirectory(directory.resolve("tree"));
        Files.writeString(tree.resolve("weir.backends.orders.deadline"), "3s");
        arguments[1] = "--spring.config.import=configtree:" + tree + "/";

        assertThat(load().reloadChangedFiles()).isEmpty();
    }
}
