package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.web.context.reactive.StandardReactiveWebEnvironment;

class ConfigurationHashTest {

    private static final String YAML = """
            weir:
              management: { token: a-token-of-forty-characters-and-then-some }
              backends:
                orders: { uri: "http://user:s3cret@localhost:1", deadline: 1s }
                search: { uri: "http://${SEARCH_HOST:search}:2" }
            spring.cloud.gateway.server.webflux.routes:
              - { id: orders, uri: "backend://orders", predicates: ["Path=/orders/**"], filters: ["AddRequestHeader=Authorization, Bearer s3cret"] }
              - { id: search, uri: "backend://search", predicates: ["Path=/search/**"] }
            """;

    @TempDir
    private Path directory;

    private ConfigurationSnapshot read(String yaml, String... arguments) {
        try {
            Path file = Files.writeString(directory.resolve("gateway.yml"), yaml);
            String[] all = new String[arguments.length + 1];
            System.arraycopy(arguments, 0, all, 1, arguments.length);
            all[0] = "--spring.config.additional-location=file:" + file;
            return new ConfigurationReader(new StandardReactiveWebEnvironment(), all).get();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String hash(String yaml, String... arguments) {
        return read(yaml, arguments).hash().toString();
    }

    @Test
    void isIndependentOfCommentsNotationAndTheOrderOfKeys() {
        String other = """
                # The same configuration.
                spring:
                  cloud.gateway.server.webflux:
                    routes:
                      - id: orders   # the first route
                        predicates: [ Path=/orders/** ]
                        uri: backend://orders
                        filters: [ "AddRequestHeader=Authorization, Bearer s3cret" ]
                      - id: search
                        uri: backend://search
                        predicates: [ Path=/search/** ]
                weir.backends:
                  search:
                    uri: "http://${SEARCH_HOST:search}:2"
                  orders:
                    deadline: 1s
                    uri: http://user:s3cret@localhost:1
                weir.management.token: a-token-of-forty-characters-and-then-some
                """;

        assertThat(hash(other)).isEqualTo(hash(YAML)).matches("[0-9a-f]{12}");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "deadline: 1s|deadline: 2s",
                "localhost:1|localhost:3",
                "/search/**|/find/**",
                ", deadline: 1s|",
                "SEARCH_HOST:search|SEARCH_HOST:find",
                "{ id: search|{ order: 1, id: search"
            })
    void changesWithEachValue(String before, String after) {
        String changed = YAML.replace(before, after == null ? "" : after);

        assertThat(changed).isNotEqualTo(YAML);
        assertThat(hash(changed)).isNotEqualTo(hash(YAML));
    }

    @Test
    void changesWithTheOrderOfRoutes() {
        String[] lines = YAML.split("\n", -1);
        String last = lines[lines.length - 2];
        lines[lines.length - 2] = lines[lines.length - 3];
        lines[lines.length - 3] = last;

        assertThat(hash(String.join("\n", lines))).isNotEqualTo(hash(YAML));
    }

    /** Otherwise a hash would show when a guessed secret is right. */
    @Test
    void doesNotDependOnSecrets() {
        assertThat(hash(YAML.replace("s3cret", "0ther").replace("a-token-of", "another-token-of")))
                .isEqualTo(hash(YAML));
    }

    /** Gateways differ in such values, and not in their configuration. */
    @Test
    void doesNotDependOnTheEnvironmentOrTheValuesOfOperators() {
        String hash = hash(YAML);

        assertThat(hash(YAML, "--SEARCH_HOST=elsewhere")).isEqualTo(hash);
        assertThat(read(YAML)
                        .withOperatorValues(Map.of("weir.backends.orders.deadline", "3s"))
                        .hash())
                .hasToString(hash);
    }

    /** An argument of one gateway alone is a difference between gateways. */
    @Test
    void changesIfAnArgumentOverridesAValueOfAFile() {
        assertThat(hash(YAML, "--weir.backends.orders.deadline=3s")).isNotEqualTo(hash(YAML));
    }

    @Test
    void separatesPathsFromValues() {
        assertThat(ConfigurationHash.of(new TreeMap<>(Map.of("ab", "c"))))
                .isNotEqualTo(ConfigurationHash.of(new TreeMap<>(Map.of("a", "bc"))));
        assertThat(ConfigurationHash.of(new TreeMap<>(Map.of("a", "b", "c", "d"))))
                .isNotEqualTo(ConfigurationHash.of(new TreeMap<>(Map.of("a", "bcd"))));
    }

    /** SHA-256 of no bytes begins with e3b0c44298fc. */
    @Test
    void isTheBeginningOfSha256AndExactAsADouble() {
        ConfigurationHash hash = ConfigurationHash.of(new TreeMap<>());

        assertThat(hash).hasToString("e3b0c44298fc");
        assertThat((long) (double) hash.value()).isEqualTo(hash.value());
    }
}
