package io.weir.perf.report;

import io.weir.perf.result.InvalidFileException;
import io.weir.perf.result.KeptRun;
import io.weir.perf.result.KeptTable;
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
 * [DIR]}, default {@code perf/results}; {@code --readme}: writes the tables of the pages for readers from the
 * kept set. The launcher checks the arguments.
 *
 * <p>{@code --keep} writes them to another directory, small enough for Git: with the raw data of all plots,
 * compressed, without logs and Gatling's reports. {@code perf/report} on that directory makes the same pages
 * again. Only valid runs are kept.
 */
public final class PerfReport {

    /** The page that marks a kept set. */
    private static final String KEPT_PAGE = "README.md";

    static final long MAX_KEPT_BYTES = 3_000_000;

    private PerfReport() {}

    /** The exit code is 0 if all pages were written, 1 if a raw file is invalid. */
    public static void main(String[] args) throws IOException {
        System.exit(run(args));
    }

    static int run(String... args) throws IOException {
        if (args.length == 1 && args[0].equals("--readme")) {
            return writeReadme();
        }
        boolean keep = args.length > 0 && args[0].equals("--keep");
        int options = keep ? 2 : 0;
        Path results = args.length > options ? Path.of(args[options]) : Path.of("perf", "results");
        Path pages = keep ? Path.of(args[1]) : results;
        List<String> errors = new ArrayList<>(keep ? keep(results, pages) : List.of());
        errors.addAll(write(pages));
        errors.forEach(System.err::println);
        System.out.println(pages.resolve("index.html"));
        return errors.isEmpty() ? 0 : 1;
    }

    private static int writeReadme() throws IOException {
        try {
            ReadmeTables.write(Path.of(""));
            return 0;
        } catch (InvalidFileException e) {
            System.err.println(e.getMessage());
            return 1;
        }
    }

    /**
     * Writes a page into the directory of each run below {@code results}, and an index. Returns the errors in
     * raw files: these runs have no page.
     */
    public static List<String> write(Path results) throws IOException {
        List<String> errors = new ArrayList<>();
        List<ReportPages.WrittenPage> pages = new ArrayList<>();
        for (Path directory : runs(results)) {
            try {
                Files.deleteIfExists(directory.resolve("index.html"));
                pages.add(ReportPages.write(results, RunResult.read(directory)));
            } catch (InvalidFileException e) {
                errors.add(String.valueOf(e.getMessage()));
            }
        }
        pages.sort(Comparator.comparing(ReportPages.WrittenPage::path));
        ReportPages.fill("index.html", results.resolve("index.html"), pages);
        if (Files.exists(results.resolve(KEPT_PAGE))) {
            ReportPages.fill("kept.md", results.resolve(KEPT_PAGE), pages);
            checkSize(results, errors);
        }
        return errors;
    }

    /** Keeps all valid runs by experiment; replaces kept runs of the same experiments. */
    private static List<String> keep(Path results, Path kept) throws IOException {
        List<String> errors = new ArrayList<>();
        for (Path directory : runs(results)) {
            try {
                RunResult run = RunResult.read(directory);
                if (run.invalidReason().isEmpty()) {
                    Path to = kept.resolve(run.property("experiment"));
                    FileSystemUtils.deleteRecursively(to);
                    KeptRun.write(run, to);
                } else {
                    errors.add(directory + ": not a valid result: " + run.invalidReason());
                }
            } catch (InvalidFileException e) {
                errors.add(String.valueOf(e.getMessage()));
            }
        }
        Files.writeString(Files.createDirectories(kept).resolve(KEPT_PAGE), "");
        keepTables(results.resolve(KeptTable.DIRECTORY), kept.resolve(KeptTable.DIRECTORY), errors);
        return errors;
    }

    /** Replaces the tables of the same scenarios and benchmarks. */
    private static void keepTables(Path from, Path to, List<String> errors) throws IOException {
        try {
            JmhTable.convert(from);
            for (KeptTable table : KeptTable.readAll(from)) {
                table.write(to);
            }
        } catch (InvalidFileException e) {
            errors.add(String.valueOf(e.getMessage()));
        }
    }

    private static void checkSize(Path kept, List<String> errors) throws IOException {
        try (Stream<Path> files = Files.walk(kept)) {
            long bytes = files.mapToLong(
                            file -> file.toFile().isFile() ? file.toFile().length() : 0)
                    .sum();
            if (bytes > MAX_KEPT_BYTES) {
                errors.add("%s: %d bytes (expected: at most %d)".formatted(kept, bytes, MAX_KEPT_BYTES));
            }
        }
    }

    /** The directories of runs; those of a kept set only if the set itself is named. */
    private static List<Path> runs(Path results) throws IOException {
        try (Stream<Path> files = Files.walk(results)) {
            return files.filter(file -> file.endsWith(RunResult.PROPERTIES))
                    .map(Path::getParent)
                    .filter(run -> results.equals(run.getParent()) || !Files.exists(run.resolveSibling(KEPT_PAGE)))
                    .toList();
        }
    }
}
