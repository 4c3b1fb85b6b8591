package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every problem of every {@linkplain MalformedFixtures fixture} is reported, with its line, and no other. */
class MalformedConfigurationTest {

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("io.weir.config.check.MalformedFixtures#all")
    void reportsTheProblems(MalformedConfiguration configuration) throws IOException {
        configuration.assertReported(directory);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("io.weir.config.check.MalformedFixtures#first")
    void printsTheProblems(MalformedConfiguration configuration) throws IOException {
        configuration.assertPrinted(directory);
    }

    @Test
    void namesEachCaseOnce() throws IOException {
        assertThat(MalformedFixtures.all())
                .extracting(MalformedConfiguration::name)
                .doesNotHaveDuplicates();
    }

    @Test
    void readsTheExpectedProblemsOfAFixture() throws IOException {
        Path file = Files.writeString(directory.resolve("drain.yml"), """
                # About the file.

                --- # a colour
                weir:
                  drain:
                    # expected: weir.drain.colour: blue
                    #   (unknown property)
                    # expected: another
                    colour: blue # a comment of the configuration

                --- # no colour
                # expected: weir (nothing)
                weir:
                """);

        assertThat(MalformedFixtures.read(file))
                .containsExactly(
                        new MalformedConfiguration(
                                "drain.yml: a colour",
                                "weir:\n  drain:\n    colour: blue # a comment of the configuration\n",
                                List.of(
                                        "gateway.yml:3: weir.drain.colour: blue (unknown property)",
                                        "gateway.yml:3: another")),
                        new MalformedConfiguration(
                                "drain.yml: no colour", "weir:\n", List.of("gateway.yml:1: weir (nothing)")));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            a.yml  | --- # a case\\nweir:\\n                       | no problem expected of a.yml: a case
            a.yml  | # expected: a problem\\nweir:\\n              | no case
            a.yml  | weir:\\n--- # a case\\n# expected: a problem  | text before the cases
            a.yml  | --- # a\\n# expected: a problem\\n---\\nweir: | a case without a name
            a.yaml | --- # a case\\n# expected: a problem\\nweir:  | not a .yml file
            """)
    void refusesAFixtureThatAssertsNothing(String name, String text, String problem) throws IOException {
        Path file = Files.writeString(directory.resolve(name), text.replace("\\n", "\n"));

        assertThatThrownBy(() -> MalformedFixtures.read(file))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(problem);
    }
}
