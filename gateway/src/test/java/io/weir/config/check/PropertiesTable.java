package io.weir.config.check;

import io.weir.config.check.ConfigurationMetadata.Documented;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Generates the tables of all properties in Markdown, from the configuration metadata. */
final class PropertiesTable {

    /** The tables are between these lines in {@code config/README.md}. */
    static final String BEGIN = "<!-- properties -->";

    static final String END = "<!-- /properties -->";

    private static final Pattern CODE = Pattern.compile("\\{@code\\s+([^{}]*)}");
    private static final Pattern DEFAULT_IN_WORDS = Pattern.compile("default: ([^.;]+?)(?:, so that|[.;]|$)");

    private PropertiesTable() {}

    static String markdown() {
        return section("`weir.backends.<name>.`", "", ConfigurationMetadata.ofBackend())
                + section("`weir.routes.<id>.`", "", ConfigurationMetadata.ofRoute())
                + section("`weir.authentication.issuers.<name>.`", "", ConfigurationMetadata.ofIssuer())
                + section("`weir.`", "weir.", ConfigurationMetadata.ofGateway());
    }

    private static String section(String title, String prefix, Stream<Documented> properties) {
        return properties
                .filter(documented -> !isMapOfGroups(documented.property()))
                .map(documented -> "| `" + documented.path().substring(prefix.length()) + "` | "
                        + defaultOf(documented.entry(), documented.property()) + " | "
                        + cell(documented.entry().description()) + " |\n")
                .collect(Collectors.joining("", "\n| " + title + " | default | meaning |\n|---|---|---|\n", ""));
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
