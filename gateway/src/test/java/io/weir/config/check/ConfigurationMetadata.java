package io.weir.config.check;

import io.weir.authentication.IssuerProperties;
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

/** One file of the configuration metadata that the build generates from the records for IDEs. */
record ConfigurationMetadata(List<MetadataEntry> properties) {

    /**
     * The metadata of a property.
     *
     * @param name the full name within its file
     * @param description the Javadoc of the record's component
     * @param defaultValue the default in the annotation; null if there is none
     */
    record MetadataEntry(
            String name,
            String type,
            String description,
            @Nullable Object defaultValue) {}

    private static final String ALL = "META-INF/spring-configuration-metadata.json";
    private static final String ONE = "META-INF/spring/configuration-metadata/%s.json";

    /** A property of a record with its metadata. */
    record Documented(String path, PropertySchema.Property property, MetadataEntry entry) {

        @Override
        public String toString() {
            return path;
        }
    }

    /** The properties below {@code weir.}, except those below user-defined names. */
    static Stream<Documented> ofGateway() {
        return read(ALL).documented("weir.", PropertySchema.of(WeirProperties.class));
    }

    /** The properties of a backend. */
    static Stream<Documented> ofBackend() {
        return read(ONE.formatted(BackendProperties.class.getName()))
                .documented("", PropertySchema.of(BackendProperties.class));
    }

    /** The properties of a route. */
    static Stream<Documented> ofRoute() {
        return read(ONE.formatted(RouteProperties.class.getName()))
                .documented("", PropertySchema.of(RouteProperties.class));
    }

    /** The properties of an issuer of tokens. */
    static Stream<Documented> ofIssuer() {
        return read(ONE.formatted(IssuerProperties.class.getName()))
                .documented("", PropertySchema.of(IssuerProperties.class));
    }

    private Stream<Documented> documented(String prefix, PropertySchema.GroupSchema group) {
        return group.properties().stream().flatMap(property -> {
            String path = prefix + property.name();
            return property.schema() instanceof PropertySchema.GroupSchema nested
                    ? documented(path + '.', nested)
                    : Stream.of(new Documented(path, property, get(path)));
        });
    }

    private MetadataEntry get(String name) {
        return properties.stream()
                .filter(property -> property.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no metadata for " + name));
    }

    private static ConfigurationMetadata read(String resource) {
        try (InputStream in = ConfigurationMetadata.class.getClassLoader().getResourceAsStream(resource)) {
            String json = new String(Objects.requireNonNull(in, resource).readAllBytes(), StandardCharsets.UTF_8);
            List<MetadataEntry> properties = new ArrayList<>();
            if (JsonParserFactory.getJsonParser().parseMap(json).get("properties") instanceof List<?> list) {
                for (Object element : list) {
                    Map<?, ?> property = (Map<?, ?>) element;
                    properties.add(new MetadataEntry(
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
