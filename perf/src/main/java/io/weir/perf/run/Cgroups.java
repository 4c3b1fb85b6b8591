package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Creates a cgroup, version 1 or 2, for each process, if this user may. */
final class Cgroups implements AutoCloseable {

    private static final long PERIOD_MICROS = 100_000;

    /** The generator's weight as a multiple of the others'. */
    private static final int PRIORITY = 10;

    private static final Path ROOT = Path.of("/sys/fs/cgroup");

    private final boolean unified = Files.exists(ROOT.resolve("cgroup.controllers"));
    private final List<Path> created = new ArrayList<>();
    private @Nullable Path home;

    Cgroups() {
        String name = "weir-perf-" + ProcessHandle.current().pid();
        try {
            if (unified) {
                Path group = create(ROOT.resolve(name));
                write(group, Map.of("cgroup.subtree_control", "+cpu"));
                home = group;
            } else {
                // Below the group of this process, so that its limits apply.
                String[] own = Files.readAllLines(Path.of("/proc/self/cgroup")).stream()
                        .map(line -> line.split(":", 3))
                        .filter(fields -> List.of(fields[1].split(",", -1)).contains("cpu"))
                        .findFirst()
                        .orElseThrow(() -> new IOException("no cpu controller"));
                Path group =
                        create(ROOT.resolve(own[1]).resolve(own[2].substring(1)).resolve(name));
                home = Files.isWritable(group.resolve("cpu.cfs_quota_us")) ? group : null;
            }
        } catch (IOException e) {
            // Not available, or not permitted.
        }
        if (home == null) {
            close();
        }
    }

    private Path create(Path group) throws IOException {
        created.add(Files.createDirectory(group));
        return group;
    }

    private static void write(Path group, Map<String, Object> values) throws IOException {
        for (Map.Entry<String, Object> one : values.entrySet()) {
            Files.writeString(group.resolve(one.getKey()), one.getValue().toString());
        }
    }

    boolean available() {
        return home != null;
    }

    /** The file that a process writes its pid to, for a quota of that many cores. */
    synchronized Path group(String process, int cores, boolean priority) {
        Path group = Objects.requireNonNull(home, "no cgroups").resolve(process);
        int weight = priority ? PRIORITY : 1;
        long quota = cores * PERIOD_MICROS;
        Map<String, Object> limits = new LinkedHashMap<>();
        if (unified) {
            limits.put("cpu.weight", weight * 100);
            limits.put("cpu.max", quota + " " + PERIOD_MICROS);
        } else {
            limits.put("cpu.shares", weight * 1024);
            limits.put("cpu.cfs_period_us", PERIOD_MICROS);
            limits.put("cpu.cfs_quota_us", quota);
        }
        try {
            write(Files.exists(group) ? group : create(group), limits);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return group.resolve("cgroup.procs");
    }

    @Override
    public synchronized void close() {
        // A group that another process uses stays, which is harmless.
        created.reversed().forEach(group -> group.toFile().delete());
        created.clear();
    }
}
