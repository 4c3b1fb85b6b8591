package io.weir.perf.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.util.FileSystemUtils;

/**
 * Makes the report of all runs in a directory, from their raw files alone: {@code [--keep TO] [DIR]}, default {@code perf/results}.
 *
 * <p>{@code --keep} makes it in another directory instead, which is small enough to be kept with the source: with the figures of each step, and without those of each
 * request and second, from which the pages could be made anew, and without logs.
 */
public final class Report {

    /** What a run is known by where it is kept: its pages are not made anew. */
    static final String KEPT = "made-with.properties";

    private static final Path RESULTS = Path.of("perf", "results");
    private static final List<String> SMALL = List.of("steps.csv", "spans.csv", "facts.csv", "assertions.csv");

    private Report() {}

    /** The exit code is 0 if all pages were written, 1 if a raw file is wrong, 2 if the arguments are. */
    public static void main(String[] args) throws IOException {
        System.exit(run(args));
    }

    static int run(String... args) throws IOException {
        boolean keep = args.length > 0 && args[0].equals("--keep");
        int options = keep ? 2 : 0;
        Path results = args.length > options ? Path.of(args[options]) : RESULTS;
        if (args.length < options || args.length > options + 1 || !Files.isDirectory(results)) {
            System.err.printf("%s (expected: [--keep TO] [DIR], a directory)%n", String.join(" ", args));
            return 2;
        }
        Path pages = keep ? Path.of(args[1]) : results;
        List<String> wrong = keep ? keep(results, pages) : write(results);
        wrong.forEach(System.err::println);
        System.out.println(pages.resolve("index.html"));
        return wrong.isEmpty() ? 0 : 1;
    }

    /**
     * Writes the report of all runs in a directory into another one, by the names of the experiments, in place of what is kept there of the same ones.
     *
     * @return what is wrong with those runs that are not kept, among them those that are no result
     */
    static List<String> keep(Path results, Path kept) throws IOException {
        Claims claims = Claims.shipped();
        List<Page.Written> pages = new ArrayList<>();
        List<String> wrong = new ArrayList<>();
        for (Path directory : runs(results)) {
            try {
                Run run = Run.read(directory);
                if (run.invalid().isEmpty()) {
                    pages.add(keep(run, kept, claims));
                } else {
                    wrong.add(directory + ": no result: " + run.invalid());
                }
            } catch (WrongFile e) {
                wrong.add(String.valueOf(e.getMessage()));
            }
        }
        pages.sort(Comparator.comparing(Page.Written::path));
        Page.writeIndex(kept, pages);
        Page.writeText(kept, pages);
        return wrong;
    }

    private static Page.Written keep(Run run, Path kept, Claims claims) throws IOException {
        Path to = kept.resolve(run.property("experiment"));
        FileSystemUtils.deleteRecursively(to);
        Files.createDirectories(to);
        for (String name : SMALL) {
            Path file = run.directory().resolve(name);
            if (Files.exists(file)) {
                Files.copy(file, to.resolve(name));
            }
        }
        Files.copy(run.directory().resolve(Run.PROPERTIES), to.resolve(KEPT));
        return Page.write(kept, run.in(to), claims);
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
