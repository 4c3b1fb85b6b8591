package io.weir.config.check;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLConnection;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonParseException;
import org.springframework.boot.json.JsonParser;
import org.springframework.boot.json.JsonParserFactory;

/**
 * The tree of the property names that Spring Boot, Spring Cloud and Weir's own endpoints read, from the
 * configuration metadata in the jars of the class path. A jar that an installation adds contains the metadata
 * of its own properties.
 *
 * <p>Immutable after its creation.
 */
final class SpringPropertyNames {

    private static final String METADATA = "META-INF/spring-configuration-metadata.json";

    /** The first elements of the names to keep. */
    static final Set<String> ROOTS = Set.of("server", "management", "logging", "spring");

    /** A name that Spring Boot reads, but describes nowhere. */
    private static final String UNDESCRIBED = "logging.expect-correlation-id";

    private final String name;
    private final Map<String, SpringPropertyNames> children = new HashMap<>();
    private boolean isProperty;
    private boolean isOpen;
    private boolean isRemoved;
    private @Nullable String replacement;

    private SpringPropertyNames(String name) {
        this.name = name;
    }

    /**
     * Reads the metadata of the class path.
     *
     * @throws IllegalStateException if a file is malformed; the message names it
     */
    static SpringPropertyNames read(ClassLoader classPath) {
        SpringPropertyNames root = new SpringPropertyNames("");
        JsonParser json = JsonParserFactory.getJsonParser();
        try {
            for (URL url : Collections.list(classPath.getResources(METADATA))) {
                URLConnection connection = url.openConnection();
                // A cached jar file would stay open.
                connection.setUseCaches(false);
                try (InputStream in = connection.getInputStream()) {
                    root.addAll(json.parseMap(new String(in.readAllBytes(), StandardCharsets.UTF_8)));
                } catch (JsonParseException | ClassCastException e) {
                    throw new IllegalStateException(url + ": no configuration metadata: " + e.getMessage(), e);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        root.node(UNDESCRIBED).isProperty = true;
        return root;
    }

    /** The name of this element, as the metadata spells it. */
    String name() {
        return name;
    }

    /** The element below this one, in any spelling; null if there is none. */
    @Nullable
    SpringPropertyNames child(String element) {
        return children.get(PropertyNames.uniform(element));
    }

    /** The names of the elements below this one. */
    Collection<String> childNames() {
        return children.values().stream()
                .filter(child -> !child.isRemoved || !child.children.isEmpty())
                .map(SpringPropertyNames::name)
                .toList();
    }

    /** Whether this is a property with names below it that no metadata lists: a map or an object. */
    boolean isOpen() {
        return isOpen;
    }

    /** Whether this was a property of an earlier version that this one does not read. */
    boolean isRemoved() {
        return isRemoved && !isProperty;
    }

    /** The property to use in place of a removed one; null if there is none. */
    @Nullable
    String replacement() {
        return replacement;
    }

    private void addAll(Map<?, ?> metadata) {
        for (Object property : list(metadata.get("properties"))) {
            add((Map<?, ?>) property);
        }
    }

    private static List<?> list(@Nullable Object list) {
        return list == null ? List.of() : (List<?>) list;
    }

    private void add(Map<?, ?> property) {
        String path = String.valueOf(property.get("name"));
        if (ROOTS.contains(path.substring(0, Math.max(0, path.indexOf('.'))))) {
            SpringPropertyNames node = node(path);
            if (property.get("deprecation") instanceof Map<?, ?> deprecation
                    && "error".equals(deprecation.get("level"))) {
                node.isRemoved = true;
                node.replacement = (String) deprecation.get("replacement");
            } else {
                node.isProperty = true;
                node.isOpen |= !isSingleValue((String) property.get("type"));
            }
        }
    }

    private SpringPropertyNames node(String path) {
        SpringPropertyNames node = this;
        for (String element : path.split("\\.", -1)) {
            node = node.children.computeIfAbsent(
                    PropertyNames.uniform(element), any -> new SpringPropertyNames(element));
        }
        return node;
    }

    private static boolean isSingleValue(@Nullable String type) {
        return type != null
                && !type.endsWith("[]")
                && (type.startsWith("java.lang.")
                        || type.equals("java.time.Duration")
                        || type.equals("org.springframework.util.unit.DataSize"));
    }
}
