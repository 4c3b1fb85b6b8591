package io.weir.perf.simulation;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A row for each request that has ended: when it was sent, what it took, what it was and what became of it. Thread-safe. */
final class Rows implements AutoCloseable {

    private final BufferedWriter out;

    Rows(Path file) {
        try {
            this.out = Files.newBufferedWriter(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A request's row. Neither name holds a comma or a quote. */
    void add(long atMillis, long micros, String request, String outcome) {
        String row = atMillis + "," + micros + "," + request + "," + outcome + "\n";
        try {
            synchronized (out) {
                out.write(row);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
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
}
