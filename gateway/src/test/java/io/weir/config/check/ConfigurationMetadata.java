package io.weir.config.check;

import io.weir.config.BackendProperties;
import io.weir.config.RouteProperties;
import io.weir.config.WeirProperties;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonParserFactory;

/** The configuration metadata that the build makes of the records, as IDEs read it, of one file. */
record ConfigurationMetadata(List<Property> properties) {

    /**
     * A property.
     *
     * @param name from the top of its file
     * @param description as the record's documentation has it
     * @param defaultValue as it is written in the annotation; null: none
     */
    record Property(
            String name,
            String type,
            String description,
            @Nullable Object defaultValue) {}

    private static final String ALL = "META-INF/spring-configuration-metadata.json";
    private static final String ONE = "META-INF/spring/configuration-metadata/%s.json";

    /** What is said of a property of a record. */
    record Documented(String path, PropertySchema.Property property, Property entry) {

        @Override
        public String toString() {
            return path;
        }
    }

    /** {@code weir.} itself, as far as it is not under names that the user chooses. */
    static Stream<Documented> ofGateway() {
        return read(ALL).documented("weir.", PropertySchema.of(WeirProperties.class));
    }

    /** What is under the name of a backend. */
    static Stream<Documented> ofBackend() {
        return read(ONE.formatted(BackendProperties.class.getName()))
                .documented("", PropertySchema.of(BackendProperties.class));
    }

    /** What is under the id of a route. */
    static Stream<Documented> ofRoute() {
        return read(ONE.formatted(RouteProperties.class.getName())).documented("", PropertySchema.of(RouteProperties.class));
    }

    private Stream<Documented> documented(String prefix, PropertySchema.GroupSchema group) {
        return group.properties().stream().flatMap(property -> {
            String path = prefix + property.name();
            return property.schema() instanceof PropertySchema.GroupSchema nested
                    ? documented(path + '.', nested)
                    : Stream.of(new Documented(path, property, get(path)));
        });
    }

    private Property get(String name) {
        return properties.stream()
                .filter(property -> property.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no metadata for " + name));
    }

    private static ConfigurationMetadata read(String resource) {
        try (InputStream in = ConfigurationMetadata.class.getClassLoader().getResourceAsStream(resource)) {
            String json = new String(Objects.requireNonNull(in, resource).readAllBytes(), StandardCharsets.UTF_8);
            List<Property> properties = new ArrayList<>();
            if (JsonParserFactory.getJsonParser().parseMap(json).get("properties") instanceof List<?> list) {
                for (Object element : list) {
                    Map<?, ?> property = (Map<?, ?>) element;
                    properties.add(new Property(
                            String.valueOf(property.get("name")),
                            String.valueOf(property.get("type")),
                            String.valueOf(Objects.requireNonNullElse(property.get("description"), "")),
                            property.get("defaultValue")));
                }
            }
            return new ConfigurationMetadata(List.copyOf(properties));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
