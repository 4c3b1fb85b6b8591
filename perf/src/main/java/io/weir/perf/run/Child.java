package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process that was started. */
public final class Child implements AutoCloseable {

    private static final Duration GRACE = Duration.ofSeconds(15);

    private final String name;
    private final Process process;
    private final Path log;
    private volatile boolean wanted = true;

    Child(String name, Process process, Path log) {
        this.name = name;
        this.process = process;
        this.log = log;
    }

    /** What it is called in the figures. */
    public String name() {
        return name;
    }

    /** Its number. */
    public long pid() {
        return process.pid();
    }

    boolean alive() {
        return process.isAlive();
    }

    boolean hasDied() {
        return wanted && !process.isAlive();
    }

    int exitValue() {
        return process.exitValue();
    }

    /** It may end from now on. */
    void release() {
        wanted = false;
    }

    /** All that it has said so far. */
    String said() {
        try {
            return Files.exists(log) ? Files.readString(log) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The last of what it said, for an error. */
    String lastLines() {
        List<String> lines = said().lines().toList();
        return String.join("\n    ", lines.subList(Math.max(0, lines.size() - 12), lines.size()));
    }

    /** Asks it to end. */
    void terminate() {
        wanted = false;
        process.destroy();
    }

    /** Waits for its end, and ends it by force if it takes too long. */
    void awaitEnd() {
        try {
            if (!process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    /** Ends it. */
    @Override
    public void close() {
        terminate();
        awaitEnd();
    }
}
