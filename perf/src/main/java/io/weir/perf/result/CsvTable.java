package io.weir.perf.result;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.MappingIterator;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SequenceWriter;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.exc.InvalidFormatException;
import tools.jackson.dataformat.csv.CsvMapper;
import tools.jackson.dataformat.csv.CsvReadFeature;
import tools.jackson.dataformat.csv.CsvSchema;
import tools.jackson.dataformat.csv.CsvWriteFeature;

/**
 * The format of one raw file: CSV with a header. A row is a record, whose constructor checks the values; its
 * components are the columns, so {@code atMillis} is {@code at_ms}.
 */
public record CsvTable<T extends Record>(String file, Class<T> type) {

    private static final CsvMapper MAPPER = CsvMapper.builder()
            .disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
            .disable(SerializationFeature.FLUSH_AFTER_WRITE_VALUE)
            .enable(CsvReadFeature.SKIP_EMPTY_LINES, CsvReadFeature.FAIL_ON_MISSING_COLUMNS)
            .enable(CsvWriteFeature.STRICT_CHECK_FOR_QUOTING)
            .withCoercionConfigDefaults(all -> all.setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail))
            .propertyNamingStrategy(new PropertyNamingStrategies.SnakeCaseStrategy() {
                @Override
                public String translate(String component) {
                    return super.translate(component).replace("_millis", "_ms");
                }
            })
            .build();

    public static void check(boolean valid, String column, Object value, String expected) {
        if (!valid) {
            throw new IllegalArgumentException(column + ": " + value + " (expected: " + expected + ")");
        }
    }

    private CsvSchema schema() {
        return MAPPER.schemaFor(type);
    }

    private String columns() {
        return String.join(",", schema().getColumnNames());
    }

    public List<T> read(Path directory) {
        return read(directory, row -> {});
    }

    /** Reads the rows; the check of a row throws an {@link IllegalArgumentException}. */
    List<T> read(Path directory, Consumer<T> check) {
        Path path = directory.resolve(file);
        if (!exists(directory)) {
            throw new InvalidFileException(path + ": missing (expected: a file with the columns " + columns() + ")");
        }
        try (Reader reader = reader(directory)) {
            return read(path, reader, check);
        } catch (IOException e) {
            throw new InvalidFileException(path + ": " + e);
        }
    }

    private Path compressed(Path directory) {
        return directory.resolve(file + ".gz");
    }

    private boolean exists(Path directory) {
        return Files.isRegularFile(directory.resolve(file)) || Files.isRegularFile(compressed(directory));
    }

    private Reader reader(Path directory) throws IOException {
        return Files.isRegularFile(directory.resolve(file))
                ? Files.newBufferedReader(directory.resolve(file))
                : new InputStreamReader(
                        new GZIPInputStream(Files.newInputStream(compressed(directory))), StandardCharsets.UTF_8);
    }

    public List<T> readIfPresent(Path directory) {
        return exists(directory) ? read(directory) : List.of();
    }

    void copy(Path from, Path to) throws IOException {
        for (Path path : List.of(from.resolve(file), compressed(from))) {
            if (Files.isRegularFile(path)) {
                Files.copy(path, to.resolve(path.getFileName()));
            }
        }
    }

    /** Writes all rows to the file in a directory. */
    void write(Path directory, List<T> rows) throws IOException {
        try (SequenceWriter writer = create(directory)) {
            writer.writeAll(rows);
        }
    }

    /** Writes all rows to a compressed file in a directory; returns its size. */
    long compress(Path directory, List<T> rows) throws IOException {
        Writer out = new OutputStreamWriter(
                new GZIPOutputStream(Files.newOutputStream(compressed(directory))), StandardCharsets.UTF_8);
        try (SequenceWriter writer = write(out)) {
            writer.writeAll(rows);
        }
        return Files.size(compressed(directory));
    }

    public List<T> readResource() {
        try (var stream = Objects.requireNonNull(CsvTable.class.getResourceAsStream("/" + file), file)) {
            return read(Path.of(file), new InputStreamReader(stream, StandardCharsets.UTF_8), row -> {});
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<T> read(Path path, Reader reader, Consumer<T> check) {
        List<T> rows = new ArrayList<>();
        int line = 1;
        CsvSchema schema = schema().withHeader().withColumnReordering(true);
        try (MappingIterator<T> csv = MAPPER.readerFor(type).with(schema).readValues(reader)) {
            while (csv.hasNextValue()) {
                line = rows.size() + 2;
                T row = csv.nextValue();
                check.accept(row);
                rows.add(row);
            }
            return rows;
        } catch (JacksonException | IllegalArgumentException e) {
            throw new InvalidFileException(path + ":" + line + ": " + message(e));
        }
    }

    private static String message(RuntimeException e) {
        return switch (e) {
            case InvalidFormatException format ->
                "%s: %s (expected: %s)"
                        .formatted(
                                format.getPath().getLast().getPropertyName(),
                                format.getValue(),
                                format.getTargetType().getSimpleName());
            case JacksonException csv
            when csv.getCause() instanceof IllegalArgumentException invalid -> String.valueOf(invalid.getMessage());
            case JacksonException csv -> csv.getOriginalMessage();
            default -> String.valueOf(e.getMessage());
        };
    }

    SequenceWriter create(Path directory) throws IOException {
        return write(Files.newBufferedWriter(directory.resolve(file)));
    }

    private SequenceWriter write(Writer out) throws IOException {
        out.write(columns() + '\n');
        return MAPPER.writer(schema()).writeValues(out);
    }
}
