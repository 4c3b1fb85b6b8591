package io.weir.config.check;

import io.weir.config.check.ConfigurationMetadata.Documented;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Generates the tables of all properties in Markdown, one for each group, from the metadata. */
final class PropertiesTable {

    /** The tables are between these lines in {@code config/reference.md}. */
    static final String BEGIN = "<!-- properties -->";

    static final String END = "<!-- /properties -->";

    private static final Pattern CODE = Pattern.compile("\\{@code\\s+([^{}]*)}");
    private static final Pattern DEFAULT_IN_WORDS = Pattern.compile("default: ([^.;]+?)(?:, so that|[.;]|$)");

    private PropertiesTable() {}

    static String markdown() {
        return section("A backend", "weir.backends.<name>.", ConfigurationMetadata.ofBackend(), 0)
                + section("A route", "weir.routes.<id>.", ConfigurationMetadata.ofRoute(), 0)
                + section(
                        "An issuer of tokens",
                        "weir.authentication.issuers.<name>.",
                        ConfigurationMetadata.ofIssuer(),
                        0)
                + section("The gateway", "weir.", ConfigurationMetadata.ofGateway(), "weir.".length());
    }

    /** The properties without a group, then those of each group. */
    private static String section(String title, String prefix, Stream<Documented> properties, int skipped) {
        Map<String, List<String>> groups = new TreeMap<>();
        properties.filter(documented -> !isMapOfGroups(documented.property())).forEach(documented -> {
            String name = documented.path().substring(skipped);
            groups.computeIfAbsent(name.substring(0, Math.max(0, name.indexOf('.'))), _ -> new ArrayList<>())
                    .add("| `" + name + "` | " + defaultOf(documented.entry(), documented.property()) + " | "
                            + cell(documented.entry().description()) + " |\n");
        });
        return "\n## " + title + "\n"
                + groups.entrySet().stream()
                        .map(group -> (group.getKey().isEmpty() ? "" : "\n### `" + prefix + group.getKey() + "`\n")
                                + "\n| `" + prefix + "` | default | meaning |\n|---|---|---|\n"
                                + String.join("", group.getValue()))
                        .collect(Collectors.joining());
    }

    /** Whether the property is the map of backends, routes or issuers, which have tables of their own. */
    private static boolean isMapOfGroups(PropertySchema.Property property) {
        return property.schema() instanceof PropertySchema.MapSchema named
                && named.element() instanceof PropertySchema.GroupSchema;
    }

    private static String defaultOf(ConfigurationMetadata.MetadataEntry property, PropertySchema.Property schema) {
        List<String> values = schema.defaults();
        if (values != null && !values.isEmpty() && !values.getFirst().isEmpty()) {
            return values.stream().map(value -> "`" + value + '`').collect(Collectors.joining(", "));
        }
        Matcher inWords = DEFAULT_IN_WORDS.matcher(property.description());
        if (inWords.find()) {
            return cell(inWords.group(1));
        }
        return property.description().contains("Required") ? "required" : "none";
    }

    private static String cell(String text) {
        return CODE.matcher(text).replaceAll("`$1`").replace("|", "\\|");
    }
}
