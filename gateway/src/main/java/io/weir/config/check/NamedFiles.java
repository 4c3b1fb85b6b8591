package io.weir.config.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;

/** The configuration files that the command line names. */
final class NamedFiles {

    /** Spring Boot's property that names files beside its own. */
    static final String PROPERTY = "spring.config.additional-location";

    private static final String EMPTY = "empty";
    private static final String OPTIONAL = "optional:";
    private static final List<String> PROPERTIES = List.of("spring.config.location", PROPERTY);

    private static final Pattern SUPPORTED = Pattern.compile(".*\\.(yml|yaml|properties)");
    /** Characters with a special meaning in Spring Boot's file locations. */
    private static final Pattern SPECIAL_CHARACTERS = Pattern.compile(".*[,;*?#%\\[\\]].*");

    /** A file of white space alone is not longer. */
    private static final int MAX_BLANK_BYTES = 4_096;

    private NamedFiles() {}

    /** The arguments of a start with these files, in Spring Boot's format. */
    static String[] arguments(List<Path> files, List<String> properties) {
        String locations = files.stream().map(file -> "file:" + file).collect(Collectors.joining(","));
        return Stream.concat(
                        properties.stream(),
                        files.isEmpty() ? Stream.empty() : Stream.of("--" + PROPERTY + '=' + locations))
                .toArray(String[]::new);
    }

    /** The configured file locations, in their original spelling. */
    static Stream<String> locations(Environment environment) {
        return PROPERTIES.stream()
                .flatMap(property ->
                        Stream.of(environment.getProperty(property, "").split("[,;]", -1)))
                .map(String::strip)
                .filter(location -> !location.isEmpty() && !location.endsWith("/") && !location.contains("classpath"));
    }

    /** Whether a file may be absent. */
    static boolean isOptional(String location) {
        return location.startsWith(OPTIONAL);
    }

    static Path toPath(String location) {
        return Path.of(location.replaceFirst('^' + OPTIONAL, "").replaceFirst("^file:(//)?", ""));
    }

    /** Whether a file has no content; a start and a reload refuse it alike. */
    private static boolean isEmpty(Path file) throws IOException {
        long size = Files.size(file);
        return size == 0 || (size <= MAX_BLANK_BYTES && isBlank(Files.readAllBytes(file)));
    }

    private static boolean isBlank(byte[] text) {
        for (byte each : text) {
            if (each != ' ' && each != '\n' && each != '\r' && each != '\t') {
                return false;
            }
        }
        return true;
    }

    /** Why a file cannot be read; null: it can. */
    static @Nullable String unreadable(Path file) {
        try {
            return !Files.exists(file)
                    ? "no such file"
                    : !Files.isRegularFile(file)
                            ? "not a file"
                            : !Files.isReadable(file) ? "not readable" : isEmpty(file) ? EMPTY : null;
        } catch (IOException e) {
            return "not readable: " + e;
        }
    }

    /** The problem of a file that is unreadable, or has a name that Spring Boot would not read as it is. */
    static Optional<ConfigurationProblem> problem(Path file) {
        String why = unreadable(file);
        if (why == null || why.equals(EMPTY)) {
            if (!SUPPORTED.matcher(file.toString().toLowerCase(Locale.ROOT)).matches()) {
                why = "unsupported file type (expected: .yml, .yaml or .properties)";
            } else if (SPECIAL_CHARACTERS.matcher(file.toString()).matches()) {
                why = "unsupported file name (expected: none of , ; * ? # % [ ])";
            }
        }
        return Optional.ofNullable(why).map(reason -> problem(file, reason));
    }

    static ConfigurationProblem problem(Path file, String why) {
        return ConfigurationProblem.of(SourceLocation.inFile(file.toString(), 0), "", null, why);
    }
}
