package io.weir.perf.result;

import io.weir.perf.result.PromiseTable.Promise;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.stream.Stream;

/**
 * The table of a scenario or benchmark as files: {@code NAME.csv}, and {@code NAME.properties} with the
 * command, the commit, the date and the machine. The pages for readers are made from it.
 *
 * @param name of the scenario or benchmark
 * @param commit that was measured; empty: not recorded
 * @param machine processor, memory and kernel
 */
public record KeptTable(String name, String command, String commit, String date, String machine, List<Promise> rows) {

    /** The directory of the tables, in the results and in a kept set. */
    public static final String DIRECTORY = "tables";

    private static CsvTable<Promise> csv(String name) {
        return new CsvTable<>(name + ".csv", Promise.class);
    }

    /** Writes the files; replaces those of an earlier run. */
    public void write(Path directory) throws IOException {
        Files.createDirectories(directory);
        csv(name).write(directory, rows);
        Files.writeString(
                directory.resolve(name + ".properties"),
                String.format(
                        Locale.ROOT, "command=%s%ncommit=%s%ndate=%s%nmachine=%s%n", command, commit, date, machine));
    }

    /**
     * Reads all tables of a directory, sorted by name; none if it does not exist.
     *
     * @throws InvalidFileException if a file has invalid content
     */
    public static List<KeptTable> readAll(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(file -> file.endsWith(".properties"))
                    .map(file -> file.replace(".properties", ""))
                    .sorted()
                    .map(name -> read(directory, name))
                    .toList();
        }
    }

    private static KeptTable read(Path directory, String name) {
        Path file = directory.resolve(name + ".properties");
        Properties made = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            made.load(reader);
        } catch (IOException | IllegalArgumentException e) {
            throw new InvalidFileException(file + ": " + e);
        }
        List<Promise> rows = csv(name).read(directory);
        if (rows.isEmpty()) {
            throw new InvalidFileException(directory.resolve(name + ".csv") + ": no rows");
        }
        return new KeptTable(
                name,
                made.getProperty("command", ""),
                made.getProperty("commit", ""),
                made.getProperty("date", ""),
                made.getProperty("machine", ""),
                rows);
    }

    /** The row of a text, such as the name of a promise. */
    public Promise row(String text) {
        return rows.stream()
                .filter(row -> row.text().equals(text))
                .findFirst()
                .orElseThrow(() -> new InvalidFileException(name + ".csv: no row \"" + text + '"'));
    }
}
