package io.weir.perf.simulation;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The rows of all completed requests, in the format of the result's {@code requests.csv}. Thread-safe. */
final class RowFile implements AutoCloseable {

    private final BufferedWriter out;
    private boolean closed;

    RowFile(Path file) {
        try {
            this.out = Files.newBufferedWriter(file);
            out.write("step,at_ms,micros,request,outcome\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Adds a row without a step; returns false if the file is closed. Names contain no comma and no quote.
     */
    boolean add(long atMillis, long micros, String request, String outcome) {
        String row = "," + atMillis + "," + micros + "," + request + "," + outcome + "\n";
        try {
            synchronized (out) {
                if (!closed) {
                    out.write(row);
                }
                return !closed;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            synchronized (out) {
                closed = true;
                out.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
