package io.weir.perf.simulation;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A row for each request that has ended: when it was sent, what it took, what it was and what became of it. Thread-safe. */
final class Rows implements AutoCloseable {

    private final BufferedWriter out;
    private boolean closed;

    Rows(Path file) {
        try {
            this.out = Files.newBufferedWriter(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A request's row, unless this is closed; whether it is not. Neither name holds a comma or a quote. */
    boolean add(long atMillis, long micros, String request, String outcome) {
        String row = atMillis + "," + micros + "," + request + "," + outcome + "\n";
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
