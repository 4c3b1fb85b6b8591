package io.weir.perf.report;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;
import org.apache.commons.csv.CSVException;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;

/** Reads a raw file: CSV by RFC 4180 with a header. Whatever is wrong with it is told by file, line and what was expected. */
final class RawFile {

    private static final CSVFormat FORMAT = CSVFormat.RFC4180
            .builder()
            .setHeader()
            .setSkipHeaderRecord(true)
            .setIgnoreEmptyLines(true)
            .get();

    private RawFile() {}

    /** The file's rows, in its order. */
    static <T> List<T> read(Path file, List<String> columns, Function<Row, T> map) {
        if (!Files.isRegularFile(file)) {
            throw new WrongFile(file, "missing (expected: a file with the columns " + String.join(",", columns) + ")");
        }
        try (Reader reader = Files.newBufferedReader(file)) {
            return read(file, reader, columns, map);
        } catch (IOException | UncheckedIOException e) {
            throw wrong(file, e);
        }
    }

    /** A file that comes with the program. */
    static <T> List<T> shipped(String name, List<String> columns, Function<Row, T> map) {
        try (var stream = RawFile.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IllegalStateException(name + ": not in this jar");
            }
            return read(Path.of(name), new java.io.InputStreamReader(stream, StandardCharsets.UTF_8), columns, map);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static <T> List<T> read(Path file, Reader reader, List<String> columns, Function<Row, T> map)
            throws IOException {
        try (CSVParser parser = FORMAT.parse(reader)) {
            List<String> found = parser.getHeaderNames();
            for (String column : columns) {
                if (!found.contains(column)) {
                    throw new WrongFile(
                            file,
                            1,
                            String.join(",", found) + " (expected: the columns " + String.join(",", columns) + ")");
                }
            }
            List<T> rows = new ArrayList<>();
            for (CSVRecord record : parser) {
                if (!record.isConsistent()) {
                    throw new WrongFile(
                            file,
                            parser.getCurrentLineNumber(),
                            record.size() + " fields (expected: " + found.size() + ")");
                }
                rows.add(map.apply(new Row(file, parser.getCurrentLineNumber(), record)));
            }
            return rows;
        }
    }

    /** The parser throws what it cannot read in a coat of its iterator's. */
    private static RuntimeException wrong(Path file, Exception e) {
        Throwable cause = e instanceof UncheckedIOException && e.getCause() != null ? e.getCause() : e;
        return cause instanceof CSVException
                ? new WrongFile(file, cause.getMessage() + " (expected: CSV by RFC 4180)")
                : new WrongFile(file, String.valueOf(cause));
    }

    /** A line of a raw file. */
    record Row(Path file, long line, CSVRecord record) {

        String text(String column) {
            return record.get(column);
        }

        /** Text that must be there. */
        String name(String column) {
            String value = text(column);
            if (value.isBlank()) {
                throw wrong(column, value, "a name");
            }
            return value;
        }

        /** A whole number from 0 on. */
        long count(String column) {
            String value = text(column);
            try {
                long number = Long.parseLong(value);
                if (number >= 0) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // Told below.
            }
            throw wrong(column, value, "a whole number from 0 on");
        }

        double number(String column) {
            String value = text(column);
            try {
                double number = Double.parseDouble(value);
                if (Double.isFinite(number)) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // Told below.
            }
            throw wrong(column, value, "a number");
        }

        OptionalDouble numberIfAny(String column) {
            return text(column).isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(number(column));
        }

        WrongFile wrong(String column, String value, String expected) {
            return new WrongFile(file, line, column + ": " + value + " (expected: " + expected + ")");
        }
    }
}
