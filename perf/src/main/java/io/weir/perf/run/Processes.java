package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.springframework.util.FileSystemUtils;

/**
 * Starts processes within their limits and ends all of them.
 *
 * <p>Concurrency: one thread starts and stops processes. A shutdown hook may call {@link #close} at any time;
 * a process that is started later is ended at once.
 */
public final class Processes implements AutoCloseable {

    private static final Duration START = Duration.ofMinutes(2);

    /** The purpose of a process; decides on its cores. */
    public enum Role {
        UNDER_TEST,
        /** Serves those under test, has the same limits, is not sampled. */
        AUXILIARY,
        /** Makes the load, or is as light as the load. */
        GENERATOR,
        /** One of many load processes; not sampled. */
        CALLER;

        boolean isGenerator() {
            return this == GENERATOR || this == CALLER;
        }
    }

    /** Observes processes and waits. */
    record Observer(BiConsumer<Role, ManagedProcess> started, Consumer<ManagedProcess> ended, Runnable waiting) {
        static final Observer NONE = new Observer((role, process) -> {}, process -> {}, () -> {});
    }

    private final Path directory;
    private final Path logs;
    private final CpuAllocation allocation;
    private final Cgroups cgroups;
    private final Observer observer;
    private final List<ManagedProcess> running = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> slots = new TreeMap<>();
    private volatile boolean closed;

    Processes(Path directory, Path logs, CpuAllocation allocation, Cgroups cgroups, Observer observer) {
        this.directory = directory;
        this.logs = logs;
        this.allocation = allocation;
        this.cgroups = cgroups;
        this.observer = observer;
    }

    /** Processes without limits. They end with this JVM at the latest. */
    public static Processes unlimited() {
        Path directory = temporaryDirectory();
        CpuAllocation all = CpuAllocation.divide(List.of(), 0, 1, false, false);
        Processes processes = new Processes(directory, directory, all, new Cgroups(), Observer.NONE);
        processes.cgroups.close();
        Runtime.getRuntime().addShutdownHook(new Thread(processes::close));
        return processes;
    }

    static Path temporaryDirectory() {
        try {
            return Files.createTempDirectory("weir-perf");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A temporary directory; {@link #close} deletes it. */
    public Path directory() {
        return directory;
    }

    /** Starts a process without limits of its own. */
    public ManagedProcess start(String name, List<String> command, Map<String, String> environment) {
        return start(Role.UNDER_TEST, name, command, environment);
    }

    /** Starts a process within the limits of its role. */
    public ManagedProcess start(Role role, String name, List<String> command, Map<String, String> environment) {
        List<String> limited = new ArrayList<>();
        // A session of its own: Ctrl-C reaches only this JVM, which then ends the others in order.
        if (Host.has("setsid")) {
            limited.add("setsid");
        }
        if (allocation.quota() && !(role.isGenerator() && allocation.generatorHasOwnCores())) {
            Path group = cgroups.group(name, allocation.granted(), role.isGenerator());
            limited.addAll(List.of("/bin/sh", "-c", "echo $$ > \"$0\" && exec \"$@\"", group.toString()));
        }
        List<String> cores = cores(role, name).stream().map(String::valueOf).toList();
        if (!cores.isEmpty()) {
            limited.addAll(List.of("taskset", "-c", String.join(",", cores)));
        }
        limited.addAll(command);
        Path log = logs.resolve(name + ".log");
        ProcessBuilder builder =
                new ProcessBuilder(limited).redirectErrorStream(true).redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        try {
            ManagedProcess process = new ManagedProcess(name, builder.start(), log);
            running.add(process);
            if (closed) {
                stop(process);
            } else {
                observer.started().accept(role, process);
            }
            return process;
        } catch (IOException e) {
            throw new RunFailure(name + " does not start: " + e.getMessage(), e);
        }
    }

    private List<Integer> cores(Role role, String name) {
        if (role.isGenerator()) {
            return allocation.generator();
        }
        List<List<Integer>> cores = allocation.processes();
        if (role == Role.AUXILIARY) {
            return cores.getLast();
        }
        int slot = 0;
        while (slots.containsValue(slot)) {
            slot++;
        }
        slots.put(name, slot);
        return cores.get(slot % cores.size());
    }

    /** Waits until the condition holds. Fails after two minutes, or if a process ends by itself. */
    public void await(String condition, BooleanSupplier holds) throws InterruptedException {
        await(condition, START, holds);
    }

    /** Waits until a process prints a line that matches; returns the first group. */
    String awaitOutput(String condition, ManagedProcess process, Pattern line) throws InterruptedException {
        await(condition, () -> line.matcher(process.output()).find());
        return line.matcher(process.output())
                .results()
                .map(match -> match.group(1))
                .findFirst()
                .orElseThrow();
    }

    void await(String condition, Duration timeout, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        while (!holds.getAsBoolean()) {
            check();
            if (System.nanoTime() > end) {
                throw new RunFailure("not within " + timeout.toSeconds() + " s: " + condition);
            }
            observer.waiting().run();
            Thread.sleep(50);
        }
    }

    /** Fails if a process has ended by itself, or if the run was stopped. */
    void check() {
        if (closed) {
            throw new RunFailure("stopped");
        }
        for (ManagedProcess process : running) {
            if (process.hasFailed()) {
                process.mayEnd();
                throw new RunFailure(process.name() + " has ended by itself, with status " + process.exitValue()
                        + "; its last lines:\n    " + process.lastLines());
            }
        }
    }

    /** Stops processes, all at the same time. */
    public void stop(ManagedProcess... processes) {
        List.of(processes).forEach(ManagedProcess::terminate);
        for (ManagedProcess process : processes) {
            process.awaitEnd();
            forget(process);
        }
    }

    /** Forgets a process that has ended. */
    void forget(ManagedProcess process) {
        observer.ended().accept(process);
        slots.remove(process.name());
        running.remove(process);
    }

    /** Ends all processes, the last one first, and deletes the temporary directory and the cgroups. */
    @Override
    public synchronized void close() {
        closed = true;
        List<ManagedProcess> all = new ArrayList<>(running).reversed();
        all.forEach(ManagedProcess::terminate);
        all.forEach(ManagedProcess::awaitEnd);
        running.clear();
        cgroups.close();
        FileSystemUtils.deleteRecursively(directory.toFile());
    }
}
