package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** The memory that a parsed file holds, and its text for Spring Boot. */
class YamlFileTest {

    /** The nodes take several times as much memory as the text. */
    @Test
    void holdsNoNodesAfterParsing() {
        assertThat(Arrays.stream(YamlFile.class.getDeclaredFields())
                        .map(Field::getGenericType)
                        .map(Object::toString))
                .isNotEmpty()
                .noneMatch(type -> type.contains("org.yaml."));
    }

    @Test
    void mergesDuplicateKeysInTheTextForSpringBoot() {
        YamlFile file = YamlFile.of("gateway.yml", "a: { b: 1 }\na: { c: 2 }\n---\nd: 3\n");

        assertThat(file.readable()).isEqualTo("---\na: {b: 1, c: 2}\n---\nd: 3\n");
    }

    @Test
    void leavesATextWithoutDuplicateKeysAsItIs() {
        String text = "a: { b: 1 } # one\n";

        assertThat(YamlFile.of("gateway.yml", text).readable()).isEqualTo(text);
    }
}
