package io.weir.perf.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Makes the report of all runs in a directory, from their raw files alone: {@code [DIR]}, default {@code perf/results}. */
public final class Report {

    private static final Path RESULTS = Path.of("perf", "results");

    private Report() {}

    /** The exit code is 0 if all pages were written, 1 if a raw file is wrong, 2 if the arguments are. */
    public static void main(String[] args) throws IOException {
        System.exit(run(args));
    }

    static int run(String... args) throws IOException {
        Path results = args.length == 0 ? RESULTS : Path.of(args[0]);
        if (args.length > 1 || !Files.isDirectory(results)) {
            System.err.printf("%s (expected: at most one argument, a directory)%n", String.join(" ", args));
            return 2;
        }
        List<String> wrong = write(results);
        wrong.forEach(System.err::println);
        System.out.println(results.resolve("index.html"));
        return wrong.isEmpty() ? 0 : 1;
    }

    /**
     * Writes a page into the directory of each run, and one that links them.
     *
     * @param results where the runs are, in directories of any depth
     * @return what is wrong with those runs whose raw files are not what they should be; they have no page
     */
    public static List<String> write(Path results) throws IOException {
        Claims claims = Claims.shipped();
        List<Page.Written> pages = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        for (Path directory : runs(results)) {
            Files.deleteIfExists(directory.resolve("index.html"));
            try {
                pages.add(Page.write(results, Run.read(directory), claims));
            } catch (WrongFile e) {
                wrong.add(String.valueOf(e.getMessage()));
            }
        }
        pages.sort(Comparator.comparing(Page.Written::path));
        Page.writeIndex(results, pages);
        return wrong;
    }

    private static List<Path> runs(Path results) throws IOException {
        try (Stream<Path> files = Files.walk(results)) {
            return files.filter(file -> file.endsWith(Run.PROPERTIES))
                    .map(Path::getParent)
                    .toList();
        }
    }
}
