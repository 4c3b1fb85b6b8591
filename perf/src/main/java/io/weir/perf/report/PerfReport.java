package io.weir.perf.report;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.RunResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.springframework.util.FileSystemUtils;

/**
 * {@code perf/report}: writes the pages of all runs in a directory from their raw files: {@code [--keep TO]
 * [DIR]}, default {@code perf/results}. The launcher checks the arguments.
 *
 * <p>{@code --keep} writes them to another directory, small enough for Git: with the figures of each step,
 * without logs and without the rows of each request and second. Pages cannot be made again from what is kept.
 */
public final class PerfReport {

    /** Replaces {@code run.properties} in a kept run, so that its page is not made again. */
    static final String KEPT_PROPERTIES = "made-with.properties";

    private static final List<String> KEPT = List.of("steps.csv", "spans.csv", "facts.csv", "assertions.csv");

    private PerfReport() {}

    /** The exit code is 0 if all pages were written, 1 if a raw file is invalid. */
    public static void main(String[] args) throws IOException {
        System.exit(run(args));
    }

    static int run(String... args) throws IOException {
        boolean keep = args.length > 0 && args[0].equals("--keep");
        int options = keep ? 2 : 0;
        Path results = args.length > options ? Path.of(args[options]) : Path.of("perf", "results");
        Path pages = keep ? Path.of(args[1]) : results;
        List<String> errors = write(results, pages);
        errors.forEach(System.err::println);
        System.out.println(pages.resolve("index.html"));
        return errors.isEmpty() ? 0 : 1;
    }

    /**
     * Writes a page into the directory of each run, and an index.
     *
     * @param results contains the directories of the runs, at any depth
     * @return the errors in raw files; these runs have no page
     */
    public static List<String> write(Path results) throws IOException {
        return write(results, results);
    }

    /** Writes the pages to another directory, by experiment; replaces kept runs of the same experiments. */
    private static List<String> write(Path results, Path to) throws IOException {
        boolean keep = !to.equals(results);
        Claims claims = Claims.shipped();
        List<String> errors = new ArrayList<>();
        List<ReportPages.WrittenPage> pages = new ArrayList<>();
        for (Path directory : runs(results)) {
            try {
                if (!keep) {
                    Files.deleteIfExists(directory.resolve("index.html"));
                }
                RunResult run = RunResult.read(directory);
                if (keep && !run.invalidReason().isEmpty()) {
                    errors.add(directory + ": not a valid result: " + run.invalidReason());
                } else {
                    pages.add(ReportPages.write(to, keep ? copySmallFiles(run, to) : run, claims));
                }
            } catch (InvalidFileException e) {
                errors.add(String.valueOf(e.getMessage()));
            }
        }
        pages.sort(Comparator.comparing(ReportPages.WrittenPage::path));
        ReportPages.fill("index.html", to.resolve("index.html"), pages);
        if (keep) {
            ReportPages.fill("kept.md", to.resolve("README.md"), pages);
        }
        return errors;
    }

    private static RunResult copySmallFiles(RunResult run, Path kept) throws IOException {
        Path to = kept.resolve(run.property("experiment"));
        FileSystemUtils.deleteRecursively(to);
        Files.createDirectories(to);
        for (String name : KEPT) {
            Path file = run.directory().resolve(name);
            if (Files.exists(file)) {
                Files.copy(file, to.resolve(name));
            }
        }
        Files.copy(run.directory().resolve(RunResult.PROPERTIES), to.resolve(KEPT_PROPERTIES));
        return run.keptIn(to);
    }

    private static List<Path> runs(Path results) throws IOException {
        try (Stream<Path> files = Files.walk(results)) {
            return files.filter(file -> file.endsWith(RunResult.PROPERTIES))
                    .map(Path::getParent)
                    .toList();
        }
    }
}
