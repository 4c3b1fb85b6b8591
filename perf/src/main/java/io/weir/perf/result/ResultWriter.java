package io.weir.perf.result;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.springframework.util.FileSystemUtils;
import tools.jackson.databind.SequenceWriter;

/**
 * Writes the raw files of a run. Deletes the previous content of the directory. Rows may come from any
 * thread.
 */
public final class ResultWriter implements AutoCloseable {

    private final Path directory;
    private final long beganEpochMillis = System.currentTimeMillis();
    private final Map<String, String> properties = new TreeMap<>();
    private final Map<Class<?>, SequenceWriter> writers = new HashMap<>();

    public ResultWriter(Path directory) throws IOException {
        this.directory = directory;
        FileSystemUtils.deleteRecursively(directory);
        Files.createDirectories(logs());
        for (CsvTable<?> table : RunResult.TABLES) {
            writers.put(table.type(), table.create(directory));
        }
    }

    public Path directory() {
        return directory;
    }

    public Path logs() {
        return directory.resolve("logs");
    }

    public long beganEpochMillis() {
        return beganEpochMillis;
    }

    public long nowMillis() {
        return System.currentTimeMillis() - beganEpochMillis;
    }

    public void property(String name, Object value) {
        properties.put(name, String.valueOf(value));
    }

    /** Writes a row: a step that has ended, a request, a sample, a span, a fact, or an assertion. */
    public synchronized void add(Record row) {
        Objects.requireNonNull(writers.get(row.getClass()), row::toString).write(row);
    }

    public void writeProperties() {
        String text = properties.entrySet().stream()
                .map(one -> one.getKey()
                        + '='
                        + one.getValue().replace("\\", "\\\\").replace("\n", " ")
                        + '\n')
                .collect(Collectors.joining());
        try {
            Files.writeString(directory.resolve(RunResult.PROPERTIES), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public synchronized void close() {
        writers.values().forEach(SequenceWriter::close);
        writeProperties();
        try (var logs = Files.newDirectoryStream(logs(), log -> Files.size(log) == 0)) {
            for (Path empty : logs) {
                Files.delete(empty);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
