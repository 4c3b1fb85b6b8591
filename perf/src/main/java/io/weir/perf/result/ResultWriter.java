package io.weir.perf.result;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.util.FileSystemUtils;

/** Writes the raw files of a run. Deletes the previous content of the directory. */
public final class ResultWriter implements AutoCloseable {

    private final Path directory;
    private final long beganEpochMillis = System.currentTimeMillis();
    private final Map<String, String> properties = new TreeMap<>();
    private final Map<Class<?>, CsvTable.Writer> writers = new HashMap<>();

    /** Creates empty files. */
    public ResultWriter(Path directory) throws IOException {
        this.directory = directory;
        FileSystemUtils.deleteRecursively(directory);
        Files.createDirectories(logs());
        for (CsvTable<?> table : List.of(
                RunResult.stepTable(),
                RunResult.requestTable(List.of()),
                RunResult.PROCESSES,
                RunResult.METERS,
                RunResult.SPANS,
                RunResult.FACTS,
                RunResult.ASSERTIONS)) {
            writers.put(table.type(), table.create(directory));
        }
    }

    /** The directory of the raw files. */
    public Path directory() {
        return directory;
    }

    /** The directory of the processes' logs. */
    public Path logs() {
        return directory.resolve("logs");
    }

    /** The start of the run, in milliseconds since 1970. */
    public long beganEpochMillis() {
        return beganEpochMillis;
    }

    /** Milliseconds since the start of the run. */
    public long nowMillis() {
        return System.currentTimeMillis() - beganEpochMillis;
    }

    /** Sets a property; {@link #writeProperties} writes it. */
    public void property(String name, Object value) {
        properties.put(name, String.valueOf(value));
    }

    /** Writes a row: a step that has ended, a request, a sample, a span, a fact, or an assertion. */
    public void add(Record row) {
        CsvTable.Writer writer = writers.get(row.getClass());
        if (writer == null) {
            throw new IllegalArgumentException(row + " (expected: a row of a raw file)");
        }
        writer.add(row);
    }

    /** Writes all properties that were set so far. */
    public void writeProperties() {
        StringBuilder text = new StringBuilder();
        properties.forEach((name, value) -> text.append(name)
                .append('=')
                .append(value.replace("\\", "\\\\").replace("\n", " "))
                .append('\n'));
        try {
            Files.writeString(directory.resolve(RunResult.PROPERTIES), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Completes all files and deletes empty logs. */
    @Override
    public void close() {
        writers.values().forEach(CsvTable.Writer::close);
        writeProperties();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(logs())) {
            for (Path log : files) {
                if (Files.size(log) == 0) {
                    Files.delete(log);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
