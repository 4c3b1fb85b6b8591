package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.regex.MatchResult;
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

    private final Path directory;
    private final Path logs;
    private final CpuAllocation allocation;
    private final Cgroups cgroups;
    private final BiConsumer<Role, ManagedProcess> started;
    private final Runnable waiting;
    private final List<ManagedProcess> running = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> slots = new ConcurrentSkipListMap<>();
    private volatile boolean closed;

    /** Calls {@code started} for each process, and {@code waiting} again and again while it waits. */
    Processes(
            Path directory,
            Path logs,
            CpuAllocation allocation,
            Cgroups cgroups,
            BiConsumer<Role, ManagedProcess> started,
            Runnable waiting) {
        this.directory = directory;
        this.logs = logs;
        this.allocation = allocation;
        this.cgroups = cgroups;
        this.started = started;
        this.waiting = waiting;
    }

    /** Processes without limits. They end with this JVM at the latest. */
    public static Processes unlimited() {
        Path directory = temporaryDirectory();
        CpuAllocation all = CpuAllocation.divide(List.of(), 0, 1, false, false);
        Cgroups none = new Cgroups();
        none.close();
        Processes processes = new Processes(directory, directory, all, none, (role, process) -> {}, () -> {});
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

    public Path directory() {
        return directory;
    }

    public ManagedProcess start(String name, List<String> command, Map<String, String> environment) {
        return start(Role.UNDER_TEST, name, command, environment);
    }

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
                started.accept(role, process);
            }
            return process;
        } catch (IOException e) {
            throw new RunFailure(name + " does not start: " + e.getMessage(), e);
        }
    }

    public String run(Role role, String name, List<String> command, Duration timeout) throws InterruptedException {
        ManagedProcess process = start(role, name, command, Map.of());
        process.mayEnd();
        try {
            await(name + " ends", timeout, () -> !process.isAlive());
            return process.output();
        } finally {
            forget(process);
        }
    }

    /** Collects the garbage of a JVM. */
    public void collectGarbage(RunningServer server) throws InterruptedException {
        String jcmd = Path.of(Host.java()).resolveSibling("jcmd").toString();
        String pid = Long.toString(server.process().orElseThrow().pid());
        run(Role.AUXILIARY, "jcmd", List.of(jcmd, pid, "GC.run"), Duration.ofMinutes(1));
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
        MatchResult found = line.matcher(process.output()).results().findFirst().orElseThrow();
        return found.group(1);
    }

    public void await(String condition, Duration timeout, BooleanSupplier holds) throws InterruptedException {
        long end = System.nanoTime() + timeout.toNanos();
        while (!holds.getAsBoolean()) {
            check();
            if (System.nanoTime() > end) {
                throw new RunFailure("not within " + timeout.toSeconds() + " s: " + condition);
            }
            waiting.run();
            Thread.sleep(50);
        }
    }

    void check() {
        if (closed) {
            throw new RunFailure("stopped");
        }
        running.forEach(ManagedProcess::check);
    }

    public void stop(ManagedProcess... processes) {
        List.of(processes).forEach(ManagedProcess::terminate);
        for (ManagedProcess process : processes) {
            process.awaitEnd();
            forget(process);
        }
    }

    void forget(ManagedProcess process) {
        slots.remove(process.name());
        running.remove(process);
    }

    /** Ends all processes, the last one first, and deletes the temporary directory and the cgroups. */
    @Override
    public synchronized void close() {
        closed = true;
        stop(new ArrayList<>(running).reversed().toArray(ManagedProcess[]::new));
        cgroups.close();
        FileSystemUtils.deleteRecursively(directory.toFile());
    }
}
