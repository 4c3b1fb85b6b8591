package io.weir.perf.run;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A file of comma-separated values with a header line (RFC 4180). Thread-safe. */
final class Csv implements AutoCloseable {

    private final BufferedWriter out;

    Csv(Path file, String... header) {
        try {
            this.out = Files.newBufferedWriter(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        row((Object[]) header);
    }

    void row(Object... values) {
        StringBuilder row = new StringBuilder();
        for (Object value : values) {
            row.append(row.isEmpty() ? "" : ",").append(quoted(String.valueOf(value)));
        }
        row.append('\n');
        try {
            synchronized (out) {
                out.append(row);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String quoted(String value) {
        return value.indexOf(',') < 0 && value.indexOf('"') < 0 && value.indexOf('\n') < 0
                ? value
                : '"' + value.replace("\"", "\"\"") + '"';
    }

    @Override
    public void close() {
        try {
            synchronized (out) {
                out.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The values of a line. */
    static List<String> values(String line) {
        List<String> values = new ArrayList<>();
        StringBuilder value = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"') {
                boolean doubled = quoted && i + 1 < line.length() && line.charAt(i + 1) == '"';
                if (doubled) {
                    value.append(c);
                    i++;
                } else {
                    quoted = !quoted;
                }
            } else if (c == ',' && !quoted) {
                values.add(value.toString());
                value.setLength(0);
            } else {
                value.append(c);
            }
        }
        values.add(value.toString());
        return values;
    }
}
