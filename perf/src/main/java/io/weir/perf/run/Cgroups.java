package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Creates a cgroup, version 1 or 2, for each process, if this user may. */
final class Cgroups implements AutoCloseable {

    private static final long PERIOD_MICROS = 100_000;

    /** The generator's weight as a multiple of the others'. */
    private static final int PRIORITY = 10;

    private static final Path ROOT = Path.of("/sys/fs/cgroup");

    private final boolean unified = Files.exists(ROOT.resolve("cgroup.controllers"));
    private final @Nullable Path home;
    private final List<Path> created = new ArrayList<>();

    Cgroups() {
        String name = "weir-perf-" + ProcessHandle.current().pid();
        this.home = unified ? createUnified(ROOT.resolve(name)) : createV1(name);
    }

    private @Nullable Path createUnified(Path group) {
        try {
            create(group);
            Files.writeString(group.resolve("cgroup.subtree_control"), "+cpu");
            return group;
        } catch (IOException e) {
            close();
            return null;
        }
    }

    /** Below the group of this process, so that its limits apply. */
    private @Nullable Path createV1(String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
                String[] fields = line.split(":", 3);
                if (List.of(fields[1].split(",", -1)).contains("cpu")) {
                    Path group = ROOT.resolve(fields[1])
                            .resolve(fields[2].substring(1))
                            .resolve(name);
                    create(group);
                    if (Files.isWritable(group.resolve("cpu.cfs_quota_us"))) {
                        return group;
                    }
                    close();
                }
            }
        } catch (IOException e) {
            // Not available, or not permitted.
        }
        return null;
    }

    private void create(Path group) throws IOException {
        Files.createDirectory(group);
        created.add(group);
    }

    boolean available() {
        return home != null;
    }

    /**
     * The group of a process.
     *
     * @param cores the quota
     * @param priority whether it has a larger weight than others
     * @return the file that the process writes its pid to
     */
    synchronized Path group(String process, int cores, boolean priority) {
        Path group = Objects.requireNonNull(home, "no cgroups").resolve(process);
        int weight = priority ? PRIORITY : 1;
        try {
            if (!Files.exists(group)) {
                create(group);
            }
            if (unified) {
                Files.writeString(group.resolve("cpu.weight"), Integer.toString(weight * 100));
                Files.writeString(group.resolve("cpu.max"), cores * PERIOD_MICROS + " " + PERIOD_MICROS);
            } else {
                Files.writeString(group.resolve("cpu.shares"), Integer.toString(weight * 1024));
                Files.writeString(group.resolve("cpu.cfs_period_us"), Long.toString(PERIOD_MICROS));
                Files.writeString(group.resolve("cpu.cfs_quota_us"), Long.toString(cores * PERIOD_MICROS));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return group.resolve("cgroup.procs");
    }

    @Override
    public synchronized void close() {
        for (Path group : created.reversed()) {
            try {
                Files.deleteIfExists(group);
            } catch (IOException e) {
                // Another process uses the group; a group that stays is harmless.
            }
        }
        created.clear();
    }
}
