package io.weir.config.check;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Reads the malformed configurations in {@code src/test/resources/malformed}.
 *
 * <p>A file has comments about the file, then one or more cases:
 *
 * <pre>
 * --- # the name of the case
 * weir:
 *   drain:
 *     # expected: weir.drain.colour: blue (unknown property)
 *     colour: blue
 * </pre>
 *
 * <p>A comment {@code # expected:} states a problem that the report has for the next line of the
 * configuration. A comment with three spaces continues it. The configuration consists of the other lines
 * that are not blank.
 */
final class MalformedFixtures {

    private static final Path DIRECTORY = Path.of("src", "test", "resources", "malformed");
    private static final String SUFFIX = ".yml";
    private static final Pattern CASE = Pattern.compile("^--- # ", Pattern.MULTILINE);
    private static final String PROBLEM = "# expected: ";
    private static final String CONTINUATION = "#   ";

    private MalformedFixtures() {}

    /** The cases of all files. */
    static List<MalformedConfiguration> all() throws IOException {
        List<MalformedConfiguration> cases = new ArrayList<>();
        for (Path file : files()) {
            cases.addAll(read(file));
        }
        return cases;
    }

    /** The first case of each file. */
    static List<MalformedConfiguration> first() throws IOException {
        List<MalformedConfiguration> cases = new ArrayList<>();
        for (Path file : files()) {
            cases.add(read(file).getFirst());
        }
        return cases;
    }

    private static List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(DIRECTORY)) {
            return files.sorted().toList();
        }
    }

    /**
     * The cases of a file.
     *
     * @throws IllegalArgumentException if the file is no fixture, or has a case without a name, or without an
     *     expected problem
     */
    static List<MalformedConfiguration> read(Path file) throws IOException {
        require(file.toString().endsWith(SUFFIX), file, "not a .yml file");
        String[] parts = CASE.split(Files.readString(file), -1);
        require(parts.length > 1, file, "no case (expected: --- # NAME)");
        require(
                parts[0].lines().allMatch(line -> line.isBlank() || line.startsWith("#")),
                file,
                "text before the cases");
        return Stream.of(parts).skip(1).map(part -> parse(file, part)).toList();
    }

    private static MalformedConfiguration parse(Path file, String part) {
        List<String> lines = part.lines().filter(line -> !line.isBlank()).toList();
        String name = file.getFileName() + ": " + lines.getFirst();
        List<String> yaml = new ArrayList<>();
        List<String> problems = new ArrayList<>();
        for (String line : lines.subList(1, lines.size())) {
            String text = line.strip();
            if (text.startsWith(PROBLEM)) {
                int next = yaml.size() + 1;
                problems.add(MalformedConfiguration.FILE + ':' + next + ": " + text.substring(PROBLEM.length()));
            } else if (text.startsWith(CONTINUATION) && !problems.isEmpty()) {
                problems.add(problems.removeLast() + ' ' + text.substring(CONTINUATION.length()));
            } else {
                yaml.add(line + '\n');
            }
        }
        require(!problems.isEmpty(), file, "no problem expected of " + name);
        require(yaml.stream().noneMatch(line -> line.startsWith("---")), file, "a case without a name");
        return new MalformedConfiguration(name, String.join("", yaml), problems);
    }

    private static void require(boolean condition, Path file, String problem) {
        if (!condition) {
            throw new IllegalArgumentException(file + ": " + problem);
        }
    }
}
