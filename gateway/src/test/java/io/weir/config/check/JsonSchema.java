package io.weir.config.check;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.config.WeirProperties;
import io.weir.config.check.ConfigurationMetadata.Documented;
import io.weir.hedge.HedgeDelay;
import io.weir.limit.DurationOrAuto;
import io.weir.limit.IntOrAuto;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.util.unit.DataSize;

/**
 * Generates the JSON Schema of {@code weir:} for editors, from the configuration records and their
 * documentation.
 *
 * <p>The schema contains names in kebab case, types, and the bounds of numbers. It permits a placeholder in
 * place of any value, and any name with a dot, because Spring Boot splits {@code orders.uri} itself. It does
 * not express the bounds of durations and contradictions between values; {@code --validate} checks these.
 */
final class JsonSchema {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String DURATION = "^0+$|^[0-9]+ *(ns|us|ms|s|m|h|d)$|^[pP]";
    private static final String PLACEHOLDER = "\\$\\{";
    private static final Pattern BOUNDS = Pattern.compile("(?:(more than )?(-?[0-9.]+) to |at least )?(-?[0-9.]+)");

    /** The description of each property, by {@code owner.component}. */
    private final Map<String, String> documentation = Stream.of(
                    ConfigurationMetadata.ofGateway(),
                    ConfigurationMetadata.ofBackend(),
                    ConfigurationMetadata.ofRoute())
            .flatMap(Function.identity())
            .collect(Collectors.toMap(
                    documented -> key(documented.property()), JsonSchema::description, (one, same) -> one));

    private JsonSchema() {}

    /** Generates the schema of a configuration file. */
    static ObjectNode create() {
        ObjectNode schema = JSON.createObjectNode();
        schema.put("$schema", "https://json-schema.org/draft/2020-12/schema");
        schema.put("title", "Weir, below weir:");
        schema.put("type", "object");
        schema.putObject("properties").set("weir", new JsonSchema().of(PropertySchema.of(WeirProperties.class)));
        return schema;
    }

    private static String key(PropertySchema.Property property) {
        return property.owner().getName() + '.' + property.component();
    }

    private static String description(Documented documented) {
        return documented.entry().description().replaceAll("\\{@\\w+ ([^}]+)}", "$1");
    }

    private ObjectNode of(PropertySchema schema) {
        return switch (schema) {
            case PropertySchema.GroupSchema group -> group(group);
            case PropertySchema.MapSchema map -> map(map);
            case PropertySchema.GroupListSchema list -> {
                ObjectNode records = JSON.createObjectNode();
                records.putArray("type").add("array").add("null");
                records.set("items", of(list.element()));
                yield records;
            }
            case PropertySchema.ListSchema list -> list(list);
            case PropertySchema.ValueSchema value -> value(value);
        };
    }

    private ObjectNode group(PropertySchema.GroupSchema group) {
        ObjectNode schema = object();
        ObjectNode properties = schema.putObject("properties");
        ArrayNode required = JSON.createArrayNode();
        for (PropertySchema.Property property : group.properties()) {
            ObjectNode of = of(property.schema());
            String description = documentation.get(key(property));
            if (description != null) {
                of.put("description", description);
            }
            List<String> defaults = property.defaults();
            if (defaults != null && defaults.size() == 1 && property.schema() instanceof PropertySchema.ValueSchema) {
                of.put("default", defaults.getFirst());
            }
            if (property.name().equals("backends")) {
                of.putObject("propertyNames").put("pattern", "^\\[?" + BackendsCheck.NAME + "]?(\\..*)?$");
            }
            properties.set(property.name(), of);
            if (property.isRequired()) {
                required.add(property.name());
            }
        }
        if (!required.isEmpty()) {
            schema.set("required", required);
        }
        schema.put("additionalProperties", false);
        return schema;
    }

    private ObjectNode map(PropertySchema.MapSchema map) {
        ObjectNode schema = object();
        schema.set("additionalProperties", of(map.element()));
        return schema;
    }

    private static ObjectNode object() {
        ObjectNode schema = JSON.createObjectNode();
        schema.putArray("type").add("object").add("null");
        schema.putObject("patternProperties").putObject("\\.");
        return schema;
    }

    private ObjectNode list(PropertySchema.ListSchema list) {
        ObjectNode schema = JSON.createObjectNode();
        ArrayNode either = schema.putArray("anyOf");
        ObjectNode array = either.addObject().put("type", "array");
        array.set("items", value(list.element()));
        array.put("uniqueItems", list.isUnique());
        // A comma-separated text.
        either.addObject().put("type", "string");
        either.add(value(list.element()));
        return schema;
    }

    private ObjectNode value(PropertySchema.ValueSchema value) {
        Class<?> type = value.type();
        ExpectedValue expectation = value.expected();
        ObjectNode schema = JSON.createObjectNode();
        if (!expectation.choices().isEmpty()) {
            ArrayNode either = schema.putArray("anyOf");
            ArrayNode words = either.addObject().putArray("enum");
            expectation.choices().forEach(words::add);
            if (expectation.choices().contains("off")) {
                // As which YAML reads the word.
                words.add(false);
            }
            either.addObject().put("type", "string").put("pattern", PLACEHOLDER);
        } else if (type == boolean.class || type == Boolean.class) {
            types(schema, "boolean", "^(true|false)$");
        } else if (type == int.class || type == Integer.class) {
            bounds(types(schema, "integer", "^[0-9]+$"), expectation.range());
        } else if (type == IntOrAuto.class) {
            bounds(types(schema, "integer", "^([0-9]+|auto)$"), expectation.range());
        } else if (type == DurationOrAuto.class) {
            types(schema, "integer", DURATION + "|^auto$").put("maximum", 0);
        } else if (type == HedgeDelay.class) {
            types(schema, "integer", DURATION + "|^p95$").put("maximum", 0);
        } else if (type == float.class || type == double.class) {
            bounds(types(schema, "number", "^[0-9.]+$"), expectation.range());
        } else if (type == Duration.class) {
            types(schema, "integer", DURATION).put("maximum", 0);
        } else if (type == DataSize.class) {
            types(schema, "integer", "^[0-9]+ *(B|KB|MB|GB|TB)?$");
        } else if (type == URI.class) {
            schema.put("type", "string");
        } else {
            schema.putArray("type").add("string").add("number").add("boolean");
        }
        return schema;
    }

    /** A JSON type, or text that matches the pattern, or a placeholder. */
    private static ObjectNode types(ObjectNode schema, String type, String pattern) {
        schema.putArray("type").add(type).add("string");
        return schema.put("pattern", pattern + '|' + PLACEHOLDER);
    }

    private static void bounds(ObjectNode schema, String range) {
        Matcher bounds = BOUNDS.matcher(range);
        if (bounds.lookingAt()) {
            String from = bounds.group(2);
            if (from != null) {
                schema.put(bounds.group(1) == null ? "minimum" : "exclusiveMinimum", Double.parseDouble(from));
                schema.put("maximum", Double.parseDouble(bounds.group(3)));
            }
        }
    }
}
