package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SpringPropertyNamesTest {

    @TempDir
    private Path directory;

    private SpringPropertyNames read(String json) throws IOException {
        Path file = directory.resolve("META-INF/spring-configuration-metadata.json");
        Files.createDirectories(file.getParent());
        Files.writeString(file, json);
        try (URLClassLoader classPath =
                new URLClassLoader(new URL[] {directory.toUri().toURL()}, null)) {
            return SpringPropertyNames.read(classPath);
        }
    }

    private static SpringPropertyNames child(SpringPropertyNames parent, String name) {
        return Objects.requireNonNull(parent.child(name), name);
    }

    @Test
    void readsPropertiesAndTheirReplacements() throws IOException {
        SpringPropertyNames server = child(read("""
                {"groups":[{"name":"server.group"}], "properties" : [
                  {"name":"server.port-one","type":"java.lang.Integer","description":"a \\"quoted\\" text }] \\\\"},
                  {"name":"server.map","type":"java.util.Map"},
                  {"deprecation":{"level":"error","replacement":"server.map"},"name":"server.old"},
                  {"name":"server.older","deprecated":true,"deprecation":{}},
                  {"name":"other.name"} ]}
                """), "server");

        assertThat(server.childNames()).containsExactlyInAnyOrder("port-one", "map", "older");
        assertThat(child(server, "portOne").isOpen()).isFalse();
        assertThat(child(server, "map").isOpen()).isTrue();
        assertThat(child(server, "old").isRemoved()).isTrue();
        assertThat(child(server, "old").replacement()).isEqualTo("server.map");
        assertThat(child(server, "older").isRemoved()).isFalse();
    }

    @Test
    void acceptsAFileWithoutProperties() throws IOException {
        assertThat(read("{}").child("server")).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "{", "{\"properties\":{}}", "{\"properties\":[1]}", "{\"groups\":%}"})
    void namesAMalformedFile(String json) {
        assertThatIllegalStateException()
                .isThrownBy(() -> read(json))
                .withMessageContaining("spring-configuration-metadata.json: no configuration metadata");
    }
}
