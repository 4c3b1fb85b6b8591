package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.ConfigurationMetadata.Documented;
import io.weir.config.check.PropertySchema.GroupSchema;
import io.weir.config.check.PropertySchema.ListSchema;
import io.weir.config.check.PropertySchema.MapSchema;
import io.weir.config.check.PropertySchema.ValueSchema;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The metadata for IDEs agrees with the records. */
class ConfigurationMetadataTest {

    @ParameterizedTest(name = "{0}")
    @MethodSource("all")
    void describesEveryPropertyAndItsDefault(Documented documented) {
        ConfigurationMetadata.MetadataEntry entry = documented.entry();
        List<String> defaults = documented.property().defaults();

        assertThat(entry.description()).isNotBlank();
        if (defaults == null) {
            assertThat(entry.description().toLowerCase(Locale.ROOT)).containsAnyOf("required", "default:");
        } else if (documented.property().schema() instanceof ValueSchema) {
            assertThat(String.valueOf(entry.defaultValue())).isEqualTo(String.join(",", defaults));
        } else if (documented.property().schema() instanceof ListSchema && !defaults.isEmpty()) {
            assertThat(String.valueOf(entry.defaultValue())).isEqualTo(defaults.toString());
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("all")
    void statesTheRangeOfTheConstraints(Documented documented) {
        String range = range(documented.property().schema());
        if (range != null && range.matches(".*\\d.*")) {
            for (String part : range.split("(?= (?:percent|characters))", -1)) {
                assertThat(documented.entry().description()).contains(part.strip());
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("enums")
    void namesEveryWordOfAnEnum(Documented documented, List<String> words) {
        assertThat(documented.entry().description()).contains(words);
    }

    static Stream<Arguments> enums() {
        return all().filter(documented -> documented.property().schema() instanceof ValueSchema value
                        && value.type().isEnum())
                .map(documented -> Arguments.of(
                        documented,
                        ((ValueSchema) documented.property().schema())
                                .expected()
                                .choices()));
    }

    private static @Nullable String range(PropertySchema schema) {
        return switch (schema) {
            case ValueSchema value -> value.expected().range();
            case ListSchema several -> several.element().expected().range();
            case GroupSchema group -> null;
            case MapSchema named -> null;
            case PropertySchema.GroupListSchema several -> null;
        };
    }

    static Stream<Documented> all() {
        return Stream.of(
                        ConfigurationMetadata.ofGateway(),
                        ConfigurationMetadata.ofBackend(),
                        ConfigurationMetadata.ofRoute(),
                        ConfigurationMetadata.ofIssuer())
                .flatMap(properties -> properties);
    }
}
