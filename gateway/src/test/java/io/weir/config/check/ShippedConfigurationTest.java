package io.weir.config.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.weir.config.check.ConfigurationMetadata.Documented;
import io.weir.config.check.PropertySchema.ListSchema;
import io.weir.config.check.PropertySchema.ValueSchema;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.yaml.snakeyaml.Yaml;

/**
 * The files in {@code config/} are valid, and {@code gateway.yml} shows every property with its actual
 * default.
 */
class ShippedConfigurationTest {

    private static final Path DIRECTORY = Path.of("..", "config");
    private static final Path ANNOTATED = DIRECTORY.resolve("gateway.yml");
    private static final Path PRODUCTION = DIRECTORY.resolve("production.yml");
    /** Replace the environment variables. */
    static final String[] SECRETS = {
        "--WEIR_MANAGEMENT_TOKEN=0123456789abcdef",
        "--WEIR_READ_ONLY_TOKEN=read-only-0123456789",
        "--WEIR_ALICES_TOKEN=alice-0123456789",
        "--WEIR_TICKET_SECRET=0123456789abcdef0123456789abcdef"
    };

    /**
     * A disabled setting: a name directly after {@code #}, or the continuation of its list after two spaces.
     */
    private static final Pattern DISABLED = Pattern.compile("^( *)#(?=[a-z][a-z.-]*:)|^( +)#(?=  )", Pattern.MULTILINE);

    /** The line break in a list. */
    private static final Pattern LIST_BREAK = Pattern.compile(",\\R +#?  +");

    /** The position of an issuer's name in its path. */
    private static final int ISSUER = 2;

    private static final Pattern LINE = Pattern.compile("( *)(#?)([a-z-]+):(| .*)");
    private static final Pattern DEFAULT_IN_WORDS = Pattern.compile("default: ([^.;]+?)(?:, so that|[.;]|$)");

    /**
     * A line of the annotated file.
     *
     * @param path the path below {@code weir}, with {@code *} for user-defined names
     * @param isDisabled whether the line is commented out
     */
    record AnnotatedLine(
            String path, boolean isDisabled, @Nullable Object value, String comment) {}

    @TempDir
    private Path directory;

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void isValid(String file) {
        assertThat(check(DIRECTORY.resolve(file), SECRETS).lines()).isEmpty();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void isValidWithEverySettingEnabled(String file) throws IOException {
        Path all = directory.resolve(file);
        Files.writeString(all, withAllSettingsEnabled(DIRECTORY.resolve(file)));

        assertThat(check(all, SECRETS).problems())
                // An SSL bundle is invalid for the clear-text backends of these files, and so are a second
                // source of addresses, what another kind of health check needs, and a redirect to a gateway
                // without TLS. Another machine has the certificates.
                .filteredOn(problem -> !problem.path().endsWith(".ssl-bundle")
                        && !problem.path().endsWith(".redirect-port")
                        && !problem.why().startsWith(ConfigurationProblem.NO_SUCH_FILE)
                        && !problem.path().endsWith(".instances")
                        && !problem.path().endsWith(".grpc-service")
                        && !problem.path().endsWith(".discovery"))
                .isEmpty();
    }

    static String withAllSettingsEnabled(Path file) throws IOException {
        return DISABLED.matcher(Files.readString(file))
                .replaceAll("$1$2")
                // The header of trusted proxies needs one.
                .replace("trusted-proxies: []", "trusted-proxies: [ 10.0.0.0/24 ]")
                .replace("allowed-origins: []", "allowed-origins: [ https://shop.example ]")
                .replace("policy: least-latency", "policy: hash")
                // A hedge needs a name, which can have several addresses.
                .replace("uri: http://127.0.0.1:9001", "uri: http://localhost:9001")
                // Empty lists are refused where nobody could be meant.
                .replace(" allow: []", " allow: [ 10.0.0.0/8 ]")
                .replace(" audiences: []", " audiences: [ weir ]")
                // A proof of identity must require something.
                .replace(" issuers: []", " issuers: [ corp ]")
                .replace("\"Path=/orders/**\"", "\"Path=/orders/**\", \"Weight=orders, 1\"");
    }

    @Test
    void productionRequiresItsTokens() {
        assertThat(check(PRODUCTION).lines())
                .contains("weir.management.token")
                .contains("the placeholder WEIR_MANAGEMENT_TOKEN has no value")
                .contains("the placeholder WEIR_READ_ONLY_TOKEN has no value");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("properties")
    void showsEveryPropertyWithItsDefault(String path, Documented documented) throws IOException {
        List<AnnotatedLine> settings = settings(path);
        List<String> defaults = documented.property().defaults();

        assertThat(settings).as("%s in %s", path, ANNOTATED).isNotEmpty();
        assertThat(settings)
                .extracting(AnnotatedLine::comment)
                .anySatisfy(comment -> assertThat(ranges(documented)).allMatch(comment::contains));
        // The URI, the list of instances or the discovery is required.
        if (documented.property().isRequired() || path.endsWith(".uri")) {
            // In a group that is off by default, the required property is off, too.
            assertThat(settings)
                    .filteredOn(setting -> !isInDisabledGroup(setting))
                    .noneMatch(AnnotatedLine::isDisabled);
        } else if (defaults == null || documented.property().schema() instanceof PropertySchema.MapSchema) {
            assertThat(settings)
                    .allMatch(AnnotatedLine::isDisabled)
                    .extracting(AnnotatedLine::comment)
                    .anySatisfy(comment -> assertThat(comment)
                            .contains("default: " + inWords(documented.entry().description())));
        } else {
            assertThat(settings)
                    .extracting(setting -> strings(setting.value()))
                    .allSatisfy(value -> assertThat(value).isEqualTo(defaults));
        }
    }

    @Test
    void showsOnlyExistingProperties() throws IOException {
        List<String> known =
                properties().map(arguments -> (String) arguments.get()[0]).toList();

        assertThat(settings().stream()
                        .filter(setting -> setting.value() != null)
                        .map(AnnotatedLine::path))
                .allSatisfy(path -> assertThat(known).contains(path));
    }

    static Stream<String> files() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files
                    .map(file -> file.getFileName().toString())
                    // The simulator's tests check this file.
                    .filter(name -> name.endsWith(".yml") && !name.equals("simulator.yml"))
                    .sorted()
                    .toList()
                    .stream();
        }
    }

    static Stream<Arguments> properties() {
        return Stream.of(
                        ConfigurationMetadata.ofGateway()
                                .filter(documented -> !isMapOfGroups(documented))
                                .map(documented -> named(documented.path().substring("weir.".length()), documented)),
                        ConfigurationMetadata.ofBackend()
                                .map(documented -> named("backends.*." + documented.path(), documented)),
                        ConfigurationMetadata.ofRoute()
                                .map(documented -> named("routes.*." + documented.path(), documented)),
                        ConfigurationMetadata.ofIssuer()
                                .map(documented -> named("authentication.issuers.*." + documented.path(), documented)))
                .flatMap(properties -> properties);
    }

    private static Arguments named(String path, Documented documented) {
        return Arguments.of(path, documented);
    }

    /** Whether the property is the map of backends, routes or issuers. */
    private static boolean isMapOfGroups(Documented documented) {
        return documented.property().schema() instanceof PropertySchema.MapSchema named
                && named.element() instanceof PropertySchema.GroupSchema;
    }

    private static ValidationReport check(Path file, String... arguments) {
        return ConfigurationCheck.resultOf(Stream.concat(
                                Stream.of("--spring.config.additional-location=file:" + file), Stream.of(arguments))
                        .toArray(String[]::new))
                .report();
    }

    private static List<AnnotatedLine> settings(String path) throws IOException {
        return settings().stream()
                .filter(setting -> setting.path().equals(path))
                .toList();
    }

    private static boolean isInDisabledGroup(AnnotatedLine setting) {
        String group = setting.path().substring(0, setting.path().lastIndexOf('.'));
        try {
            return settings(group).stream().anyMatch(AnnotatedLine::isDisabled);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The lines below {@code weir}. */
    private static List<AnnotatedLine> settings() throws IOException {
        List<AnnotatedLine> settings = new ArrayList<>();
        TreeMap<Integer, String> above = new TreeMap<>();
        String text = LIST_BREAK.matcher(Files.readString(ANNOTATED)).replaceAll(", ");
        for (String line : text.lines().toList()) {
            Matcher matcher = LINE.matcher(line);
            if (matcher.matches()) {
                int indent = matcher.group(1).length();
                above.tailMap(indent, true).clear();
                above.put(indent, matcher.group(3));
                List<String> names = new ArrayList<>(above.values());
                if (names.removeFirst().equals("weir")) {
                    if (names.size() > 2
                            && (names.getFirst().equals("backends")
                                    || names.getFirst().equals("routes"))) {
                        names.set(1, "*");
                    }
                    if (names.size() > ISSUER && names.get(1).equals("issuers")) {
                        names.set(ISSUER, "*");
                    }
                    String rest = matcher.group(4);
                    int comment = rest.indexOf(" # ");
                    settings.add(new AnnotatedLine(
                            String.join(".", names),
                            !matcher.group(2).isEmpty(),
                            new Yaml().load(rest),
                            comment < 0 ? "" : rest.substring(comment)));
                }
            }
        }
        return settings;
    }

    private static List<String> strings(@Nullable Object value) {
        return value instanceof List<?> list
                ? list.stream().map(String::valueOf).toList()
                : List.of(String.valueOf(value));
    }

    private static String inWords(String description) {
        Matcher matcher = DEFAULT_IN_WORDS.matcher(description.replaceAll("\\{@code\\s+([^{}]*)}", "$1"));
        return matcher.find() ? matcher.group(1) : "none";
    }

    private static List<String> ranges(Documented documented) {
        String range =
                switch (documented.property().schema()) {
                    case ValueSchema value -> value.expected().range();
                    case ListSchema several -> several.element().expected().range();
                    default -> null;
                };
        return range == null || !range.matches(".*\\d.*")
                ? List.of()
                : Stream.of(range.split("(?= (?:percent|characters))", -1))
                        .map(String::strip)
                        .collect(Collectors.toList());
    }
}
