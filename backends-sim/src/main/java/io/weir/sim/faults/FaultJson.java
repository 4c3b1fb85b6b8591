package io.weir.sim.faults;

import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/** Parses JSON documents strictly: refuses every unknown field by its name. Also writes the answers. */
final class FaultJson {

    private final JsonMapper json = JsonMapper.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
            .addModule(new SimpleModule()
                    .addDeserializer(Duration.class, new DurationReader())
                    .addSerializer(Duration.class, new DurationWriter()))
            .build();

    /** The validated faults of a document, and its seed. */
    record ParsedScript(List<Fault> faults, long seed) {}

    /** Parses a script, or a single fault, which counts as a script with one fault. */
    ParsedScript read(byte[] document) {
        try {
            JsonNode tree = json.readTree(document);
            if (!tree.isObject()) {
                throw new InvalidFaultException(
                        "document", tree.getNodeType(), "an object with a script, or a single fault");
            }
            if (tree.has("kind")) {
                return new ParsedScript(
                        List.of(json.treeToValue(tree, FaultDefinition.class).validate("")), 0);
            }
            FaultScript script = json.treeToValue(tree, FaultScript.class);
            return new ParsedScript(script.validate(""), script.seedOrDefault());
        } catch (UnrecognizedPropertyException e) {
            Collection<Object> known = Objects.requireNonNullElse(e.getKnownPropertyIds(), List.of());
            throw new InvalidFaultException(
                    path(e),
                    "unknown",
                    "one of " + known.stream().map(String::valueOf).sorted().collect(Collectors.joining(", "))
                            + nearest(e.getPropertyName(), known));
        } catch (DatabindException e) {
            throw new InvalidFaultException(path(e), "not readable", e.getOriginalMessage());
        } catch (JacksonException e) {
            throw new InvalidFaultException("document", "no JSON", e.getOriginalMessage());
        }
    }

    String write(Object value) {
        return json.writeValueAsString(value);
    }

    private static String path(DatabindException e) {
        StringBuilder path = new StringBuilder();
        for (JacksonException.Reference step : e.getPath()) {
            @Nullable String name = step.getPropertyName();
            if (name == null) {
                path.append('[').append(step.getIndex()).append(']');
            } else {
                path.append(path.isEmpty() ? "" : ".").append(name);
            }
        }
        return path.isEmpty() ? "document" : path.toString();
    }

    private static String nearest(String written, Collection<Object> known) {
        return known.stream()
                .map(String::valueOf)
                .collect(Collectors.toMap(name -> name, name -> distance(written, name)))
                .entrySet()
                .stream()
                .filter(entry -> entry.getValue() <= 2)
                .min(Comparator.comparing((Map.Entry<String, Integer> entry) -> entry.getValue())
                        .thenComparing(Map.Entry::getKey))
                .map(entry -> "; nearest: " + entry.getKey())
                .orElse("");
    }

    /** The Levenshtein distance. */
    private static int distance(String one, String other) {
        int[] row = new int[other.length() + 1];
        for (int j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= one.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= other.length(); j++) {
                int above = row[j];
                int changed = diagonal + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                row[j] = Math.min(changed, 1 + Math.min(above, row[j - 1]));
                diagonal = above;
            }
        }
        return row[other.length()];
    }

    private static final class DurationReader extends ValueDeserializer<Duration> {
        @Override
        public Duration deserialize(JsonParser parser, DeserializationContext context) {
            String text = parser.getString();
            try {
                return DurationFormat.parse(text);
            } catch (IllegalArgumentException e) {
                throw context.weirdStringException(text, Duration.class, "a duration such as 250ms, 15s or 2m");
            }
        }
    }

    private static final class DurationWriter extends ValueSerializer<Duration> {
        @Override
        public void serialize(
                Duration value, tools.jackson.core.JsonGenerator generator, SerializationContext context) {
            generator.writeString(DurationFormat.of(value));
        }
    }
}
