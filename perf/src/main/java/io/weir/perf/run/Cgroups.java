package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A cgroup for each process, of version 1 or 2, where this user may make some. */
final class Cgroups implements AutoCloseable {

    private static final long PERIOD_MICROS = 100_000;
    /** Times the weight of any other group. */
    private static final int PREFERENCE = 10;

    private static final int WEIGHT = 100;
    private static final int SHARES = 1024;
    private static final Path ROOT = Path.of("/sys/fs/cgroup");

    private final @Nullable Path home;
    private final boolean unified;
    private final List<Path> made = new ArrayList<>();

    Cgroups() {
        String name = "weir-perf-" + ProcessHandle.current().pid();
        this.unified = Files.exists(ROOT.resolve("cgroup.controllers"));
        this.home = unified ? unifiedHome(name) : cpuHome(name);
        if (home != null) {
            made.add(home);
        }
    }

    private static @Nullable Path unifiedHome(String name) {
        Path home = ROOT.resolve(name);
        try {
            Files.createDirectory(home);
            Files.writeString(home.resolve("cgroup.subtree_control"), "+cpu");
            return home;
        } catch (IOException e) {
            delete(home);
            return null;
        }
    }

    /** Below that of this process, so that what limits this one limits its children. */
    private static @Nullable Path cpuHome(String name) {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/cgroup"))) {
                String[] fields = line.split(":", 3);
                if (List.of(fields[1].split(",", -1)).contains("cpu")) {
                    Path home = ROOT.resolve(fields[1])
                            .resolve(fields[2].substring(1))
                            .resolve(name);
                    Files.createDirectory(home);
                    if (Files.isWritable(home.resolve("cpu.cfs_quota_us"))) {
                        return home;
                    }
                    delete(home);
                }
            }
        } catch (IOException e) {
            // No such file system, or not for this user.
        }
        return null;
    }

    boolean available() {
        return home != null;
    }

    /**
     * A group for a process, limited to so many cores' worth.
     *
     * @param preferred whether it goes before others where the cores do not suffice
     * @return the file that its number is to be written to
     */
    synchronized Path group(String process, int cores, boolean preferred) {
        if (home == null) {
            throw new IllegalStateException("there are no cgroups");
        }
        Path group = home.resolve(process);
        try {
            if (!Files.exists(group)) {
                Files.createDirectory(group);
                made.add(group);
            }
            int times = preferred ? PREFERENCE : 1;
            if (unified) {
                Files.writeString(group.resolve("cpu.weight"), Integer.toString(times * WEIGHT));
                Files.writeString(group.resolve("cpu.max"), cores * PERIOD_MICROS + " " + PERIOD_MICROS);
            } else {
                Files.writeString(group.resolve("cpu.shares"), Integer.toString(times * SHARES));
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
        for (Path one : made.reversed()) {
            delete(one);
        }
        made.clear();
    }

    private static void delete(Path group) {
        try {
            Files.deleteIfExists(group);
        } catch (IOException e) {
            // Somebody is still in it: it is empty of ours, and harmless.
        }
    }
}
