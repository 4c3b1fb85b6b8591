package io.weir.perf.result;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.commons.csv.CSVException;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;
import org.springframework.beans.BeanUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The format of one raw file: CSV by RFC 4180 with a header. A row is a record; its first components are the
 * columns. The component's type decides how a field is read; a {@code long} is not negative.
 *
 * @param columns their names; {@code !} marks one that must not be blank, {@code %} one with three decimals
 * @param refiner completes and checks a record; reports invalid fields through {@link CsvRow#invalid}
 */
public record CsvTable<T extends Record>(
        String file, Class<T> type, List<String> columns, BiFunction<CsvRow, T, T> refiner) {

    private static final CSVFormat WRITTEN =
            CSVFormat.RFC4180.builder().setRecordSeparator('\n').get();
    private static final CSVFormat READ = CSVFormat.RFC4180
            .builder()
            .setHeader()
            .setSkipHeaderRecord(true)
            .setIgnoreEmptyLines(true)
            .get();

    /** A table whose records need no refinement. */
    public CsvTable(String file, Class<T> type, String... columns) {
        this(file, type, List.of(columns), (row, value) -> value);
    }

    private List<String> names() {
        return columns.stream().map(CsvTable::name).toList();
    }

    private static String name(String column) {
        return column.replaceAll("[!%]$", "");
    }

    /** Reads the rows of the file in a directory. */
    public List<T> read(Path directory) {
        Path path = directory.resolve(file);
        if (!Files.isRegularFile(path)) {
            throw new InvalidFileException(
                    path, "missing (expected: a file with the columns " + String.join(",", names()) + ")");
        }
        try (Reader reader = Files.newBufferedReader(path)) {
            return read(path, reader);
        } catch (IOException | UncheckedIOException e) {
            // The parser's iterator wraps its exception.
            Throwable cause = e instanceof UncheckedIOException && e.getCause() != null ? e.getCause() : e;
            throw cause instanceof CSVException
                    ? new InvalidFileException(path, cause.getMessage() + " (expected: CSV by RFC 4180)")
                    : new InvalidFileException(path, String.valueOf(cause));
        }
    }

    /** The same; no rows if the file does not exist. */
    public List<T> readIfPresent(Path directory) {
        return Files.exists(directory.resolve(file)) ? read(directory) : List.of();
    }

    /** Reads the resource of that name in this jar. */
    public List<T> readResource() {
        try (var stream = Objects.requireNonNull(CsvTable.class.getResourceAsStream("/" + file), file)) {
            return read(Path.of(file), new InputStreamReader(stream, StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<T> read(Path path, Reader reader) throws IOException {
        try (CSVParser csv = READ.parse(reader)) {
            List<String> found = csv.getHeaderNames();
            if (!found.containsAll(names())) {
                String expected = " (expected: the columns " + String.join(",", names()) + ")";
                throw new InvalidFileException(path, 1, String.join(",", found) + expected);
            }
            // Millions of rows share a few words.
            Map<String, String> words = new HashMap<>();
            List<T> rows = new ArrayList<>();
            for (CSVRecord fields : csv) {
                CsvRow row = new CsvRow(path, csv.getCurrentLineNumber(), fields);
                if (!fields.isConsistent()) {
                    throw new InvalidFileException(
                            path, row.line, fields.size() + " fields (expected: " + found.size() + ")");
                }
                rows.add(refiner.apply(row, parse(row, words)));
            }
            return rows;
        }
    }

    private T parse(CsvRow row, Map<String, String> words) {
        RecordComponent[] components = type.getRecordComponents();
        Object[] values = new Object[components.length];
        for (int i = 0; i < values.length; i++) {
            Object value = i < columns.size() ? row.value(columns.get(i), components[i].getType()) : "";
            values[i] = value instanceof String text ? words.computeIfAbsent(text, Function.identity()) : value;
        }
        return BeanUtils.instantiateClass(BeanUtils.getResolvableConstructor(type), values);
    }

    /** Creates the file in a directory and writes the header. */
    public Writer create(Path directory) {
        try {
            CSVPrinter printer = WRITTEN.print(directory.resolve(file), StandardCharsets.UTF_8);
            printer.printRecord(names());
            return new Writer(printer, columns);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Appends rows. Thread-safe: the printer locks around each row. */
    public record Writer(CSVPrinter printer, List<String> columns) implements AutoCloseable {

        /** Appends one row. */
        public void add(Record row) {
            RecordComponent[] components = row.getClass().getRecordComponents();
            try {
                printer.printRecord(IntStream.range(0, columns.size()).mapToObj(i -> {
                    ReflectionUtils.makeAccessible(components[i].getAccessor());
                    Object value = ReflectionUtils.invokeMethod(components[i].getAccessor(), row);
                    return columns.get(i).endsWith("%") && value instanceof Double number
                            ? String.format(Locale.ROOT, "%.3f", number)
                            : value;
                }));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void close() {
            try {
                printer.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** One row of a file that is being read. */
    public record CsvRow(Path path, long line, CSVRecord fields) {

        private Object value(String column, Class<?> type) {
            String name = name(column);
            String text = fields.get(name);
            if (column.endsWith("!") && text.isBlank()) {
                throw invalid(name, "a name");
            } else if (type == long.class) {
                if (!text.matches("\\d{1,18}")) {
                    throw invalid(name, "a whole number from 0 on");
                }
                return Long.parseLong(text);
            } else if (type == boolean.class) {
                if (!text.matches("true|false")) {
                    throw invalid(name, "true or false");
                }
                return Boolean.parseBoolean(text);
            }
            return type == double.class ? number(name) : text;
        }

        /** A finite number. */
        double number(String column) {
            try {
                double number = Double.parseDouble(fields.get(column));
                if (Double.isFinite(number)) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // Reported below.
            }
            throw invalid(column, "a number");
        }

        /** The exception for an invalid field. */
        public InvalidFileException invalid(String column, String expected) {
            return new InvalidFileException(
                    path, line, column + ": " + fields.get(column) + " (expected: " + expected + ")");
        }
    }
}
