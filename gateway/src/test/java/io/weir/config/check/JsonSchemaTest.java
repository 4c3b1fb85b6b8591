package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion.VersionFlag;
import com.networknt.schema.ValidationMessage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.Yaml;

/**
 * The schema file is up to date. The schema accepts valid files and rejects malformed ones.
 */
class JsonSchemaTest {

    private static final Path CONFIG = Path.of("..", "config");
    private static final Path FILE = CONFIG.resolve("weir.schema.json");
    /** {@code mvn test -pl gateway -Dtest=JsonSchemaTest -Dschema=write} regenerates the file. */
    private static final boolean WRITE = "write".equals(System.getProperty("schema"));

    private static final com.networknt.schema.JsonSchema SCHEMA =
            JsonSchemaFactory.getInstance(VersionFlag.V202012).getSchema(JsonSchema.create());

    /** The problems of a report that a schema can detect. */
    private static final Pattern DETECTABLE = Pattern.compile(
            "gateway\\.yml:[0-9]+: weir\\.[^ ]+(: .*)? \\("
                    + "(unknown property|without a unit|expected: (a whole number|a number, [0-9]|true or false|a size|properties:|1 to 63 of a-z)).*");

    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    @Test
    void isUpToDateInTheFile() throws IOException {
        String current = JSON.writeValueAsString(JsonSchema.create()) + '\n';
        if (WRITE) {
            Files.writeString(FILE, current);
        } else {
            assertThat(FILE).as("-Dschema=write regenerates it").hasContent(current);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("shipped")
    void acceptsTheShippedFiles(Path file) throws IOException {
        String text = Files.readString(file);

        assertThat(text).startsWith("# yaml-language-server: $schema=weir.schema.json\n");
        assertThat(problems(text)).isEmpty();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("malformed")
    void rejectsMalformedFiles(MalformedConfiguration configuration) {
        assertThat(problems(configuration.yaml())).isNotEmpty();
    }

    @Test
    void acceptsPlaceholdersAndNamesWithDots() {
        assertThat(problems("""
                weir:
                  overload.max-in-flight: 100
                  drain: { delay: "${DELAY:5s}" }
                  backends:
                    orders: { uri: "${ORDERS}", max-streams: "${STREAMS}", circuit-breaker.failure-rate-threshold: 40 }
                """)).isEmpty();
    }

    /** YAML reads the word as false. */
    @Test
    void acceptsAProtocolThatIsOff() {
        assertThat(problems("weir.edge: {}\nweir: { edge: { proxy-protocol: off } }"))
                .isEmpty();
        assertThat(problems("weir: { edge: { proxy-protocol: on } }")).isNotEmpty();
    }

    @Test
    void acceptsPropertiesOfOnesOwnForAnchors() {
        assertThat(problems("""
                x-defaults: &defaults { deadline: 1s }
                weir.backends: {}
                weir: { backends: { my-shop: { <<: *defaults, uri: "http://shop" } } }
                """)).isEmpty();
    }

    static Stream<Path> shipped() {
        return Stream.of("gateway.yml", "production.yml", "local.yml", "unprotected.yml")
                .map(CONFIG::resolve);
    }

    /**
     * The malformed files that a schema can detect: unknown names and values of a wrong type below
     * {@code weir}.
     */
    static Stream<MalformedConfiguration> malformed() throws IOException {
        return MalformedFixtures.all().stream()
                .filter(configuration -> configuration.problems().stream()
                        .allMatch(problem -> DETECTABLE.matcher(problem).matches()));
    }

    private static Set<ValidationMessage> problems(String yaml) {
        return SCHEMA.validate(JSON.valueToTree(new Yaml().load(yaml)));
    }
}
