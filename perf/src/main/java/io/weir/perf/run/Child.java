package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A process that was started, and is ended. */
public final class Child implements AutoCloseable {

    private static final Duration START = Duration.ofSeconds(90);
    private static final Duration GRACE = Duration.ofSeconds(15);

    private final String name;
    private final Process process;
    private final Path log;
    private final boolean ownsLog;
    private volatile boolean wanted = true;

    private Child(String name, Process process, Path log, boolean ownsLog) {
        this.name = name;
        this.process = process;
        this.log = log;
        this.ownsLog = ownsLog;
    }

    /** Starts a process that is somebody else's to end; what it says is kept in a file. */
    static Child start(String name, List<String> command, Map<String, String> environment, Path log)
            throws IOException {
        return new Child(name, process(command, environment, log), log, false);
    }

    /** Starts a process that ends with this one at the latest, after Ctrl-C too, and leaves no file behind. */
    public static Child start(String name, List<String> command, Map<String, String> environment) throws IOException {
        Path log = Files.createTempFile("weir-perf", ".log");
        Child child;
        try {
            child = new Child(name, process(command, environment, log), log, true);
        } catch (IOException e) {
            Files.delete(log);
            throw e;
        }
        Runtime.getRuntime().addShutdownHook(new Thread(child::kill));
        return child;
    }

    private static Process process(List<String> command, Map<String, String> environment, Path log) throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** What it is called in the figures. */
    public String name() {
        return name;
    }

    /** Its number. */
    public long pid() {
        return process.pid();
    }

    /**
     * The processor time that it has used.
     *
     * @throws IllegalStateException if that is not known, since it has ended
     */
    public Duration used() {
        return process.toHandle()
                .info()
                .totalCpuDuration()
                .orElseThrow(() -> new IllegalStateException(name + ": its processor time is not known"));
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
    public String said() {
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

    /** Waits until it answers this with 200; otherwise it is ended. */
    public Child awaitAnswer(URI uri) throws InterruptedException {
        try (HttpClient http = HttpClient.newHttpClient()) {
            HttpRequest request =
                    HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(5)).build();
            return await("answers " + uri, () -> status(http, request) == 200);
        }
    }

    private static int status(HttpClient http, HttpRequest request) {
        try {
            return http.send(request, HttpResponse.BodyHandlers.discarding()).statusCode();
        } catch (IOException e) {
            return 0;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return 0;
        }
    }

    /** Waits until it is ready in whatever way; otherwise it is ended. */
    public Child await(String what, BooleanSupplier condition) throws InterruptedException {
        boolean ready = false;
        long end = System.nanoTime() + START.toNanos();
        try {
            while (!condition.getAsBoolean()) {
                if (hasDied()) {
                    throw new IllegalStateException(name + " does not start:\n    " + lastLines());
                }
                if (System.nanoTime() >= end) {
                    throw new IllegalStateException(
                            name + ": not within " + START.toSeconds() + " s: " + what + "\n    " + lastLines());
                }
                Thread.sleep(50);
            }
            ready = true;
            return this;
        } finally {
            if (!ready) {
                close();
            }
        }
    }

    /** Waits until it has ended by itself; its status. */
    public int awaitExit() throws InterruptedException {
        wanted = false;
        return process.waitFor();
    }

    /** Asks it to end. */
    void terminate() {
        wanted = false;
        process.destroy();
    }

    /** Waits for its end and that of those that it has started, and ends them by force if they take too long. */
    void awaitEnd() {
        try {
            if (!process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
            // There are some if it was killed, or has died.
            Proc.ofSession(pid()).forEach(ProcessHandle::destroy);
            long end = System.nanoTime() + GRACE.toNanos();
            while (!Proc.ofSession(pid()).isEmpty() && System.nanoTime() < end) {
                Thread.sleep(50);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Proc.ofSession(pid()).forEach(ProcessHandle::destroyForcibly);
    }

    private void kill() {
        process.destroyForcibly();
        log.toFile().delete();
    }

    /** Ends it. */
    @Override
    public void close() {
        terminate();
        awaitEnd();
        if (ownsLog) {
            log.toFile().delete();
        }
    }
}
