package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** A process that {@link Processes} started. */
public final class ManagedProcess {

    private static final Duration GRACE = Duration.ofSeconds(15);
    private static final int LAST_LINES = 12;

    private final String name;
    private final Process process;
    private final Path log;
    private volatile boolean mayEnd;

    ManagedProcess(String name, Process process, Path log) {
        this.name = name;
        this.process = process;
        this.log = log;
    }

    public String name() {
        return name;
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    int exitValue() {
        return process.exitValue();
    }

    /** From now on, the end of the process is not a failure. */
    public void mayEnd() {
        mayEnd = true;
    }

    void check() {
        if (!mayEnd && !isAlive()) {
            mayEnd = true;
            throw new RunFailure(name + " has ended by itself, with status " + exitValue() + "; its last lines:\n    "
                    + lastLines());
        }
    }

    public Duration cpuTime() {
        return ProcessStats.ofTree(pid(), Set.of())
                .map(stats -> Duration.of(stats.cpuMicros(), ChronoUnit.MICROS))
                .orElseThrow(() -> new RunFailure(name + ": CPU time unknown, because it has ended"));
    }

    /** The resident memory of the process and its descendants; shared pages are divided among their users. */
    public long pssBytes() {
        return ProcessStats.memoryBytes(pid(), "Pss");
    }

    /** The resident memory of the process and its descendants; shared pages count for each. */
    public long rssBytes() {
        return ProcessStats.memoryBytes(pid(), "Rss");
    }

    public String output() {
        try {
            return Files.exists(log) ? Files.readString(log) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    String lastLines() {
        List<String> lines = output().lines().toList();
        return String.join("\n    ", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size()));
    }

    public int awaitExit() throws InterruptedException {
        mayEnd = true;
        return process.waitFor();
    }

    void terminate() {
        mayEnd = true;
        process.destroy();
    }

    /** Waits for the end of its session, and kills its remaining processes after {@link #GRACE}. */
    void awaitEnd() {
        try {
            if (!process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
            // Descendants survive a process that was killed.
            ProcessStats.ofSession(pid()).forEach(ProcessHandle::destroy);
            long end = System.nanoTime() + GRACE.toNanos();
            while (!ProcessStats.ofSession(pid()).isEmpty() && System.nanoTime() < end) {
                Thread.sleep(50);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        ProcessStats.ofSession(pid()).forEach(ProcessHandle::destroyForcibly);
    }
}
