package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;

/** A file of comma-separated values with a header line (RFC 4180). Thread-safe, as its printer is, which locks around each row. */
final class Csv implements AutoCloseable {

    private static final CSVFormat FORMAT =
            CSVFormat.RFC4180.builder().setRecordSeparator('\n').get();

    private final CSVPrinter out;

    Csv(Path file, String... header) {
        try {
            this.out = FORMAT.print(file, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        row((Object[]) header);
    }

    void row(Object... values) {
        try {
            out.printRecord(values);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            out.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The rows of a file, the first first; a header is one of them. To be closed. */
    static Stream<List<String>> rows(Path file) {
        try {
            CSVParser parser = CSVParser.parse(file, StandardCharsets.UTF_8, FORMAT);
            return parser.stream().map(CSVRecord::toList).onClose(() -> close(parser));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void close(CSVParser parser) {
        try {
            parser.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
