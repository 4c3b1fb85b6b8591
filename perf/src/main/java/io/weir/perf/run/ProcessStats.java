package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The figures of a process in {@code /proc}.
 *
 * @param cpuMicros CPU time since its start
 * @param rssBytes resident memory, including shared pages
 * @param connections established TCP connections
 */
record ProcessStats(long cpuMicros, long rssBytes, int threads, int connections) {

    /** {@code sysconf(_SC_CLK_TCK)} is 100 on all Linux platforms with Java. */
    private static final long MICROS_PER_TICK = 10_000;

    private static final String ESTABLISHED = "01";

    /**
     * The current values of one process; empty if it has ended.
     *
     * @param established the result of {@link #establishedSockets}
     */
    static Optional<ProcessStats> of(long pid, Set<String> established) {
        Path home = home(pid);
        return Part.of(home, established).map(part -> part.stats(Memory.of(home).rssBytes));
    }

    /** The sum for a process and its descendants. Pages that they share count once. */
    static Optional<ProcessStats> ofTree(long pid, Set<String> established) {
        List<Long> pids = tree(pid).toList();
        if (pids.size() == 1) {
            return of(pid, established);
        }
        // The less exact values of status: a walk through all pages of many processes is slow.
        return pids.stream()
                .flatMap(one -> Part.of(home(one), established).stream())
                .reduce(Part::plus)
                .map(part -> part.stats(part.ownBytes + part.sharedBytes));
    }

    private record Part(long cpuMicros, long ownBytes, long sharedBytes, int threads, int connections) {

        static Optional<Part> of(Path home, Set<String> established) {
            try {
                String[] stat = stat(home);
                Path status = home.resolve("status");
                return Optional.of(new Part(
                        (Long.parseLong(stat[11]) + Long.parseLong(stat[12])) * MICROS_PER_TICK,
                        bytes(status, "RssAnon:"),
                        bytes(status, "RssFile:") + bytes(status, "RssShmem:"),
                        Integer.parseInt(stat[17]),
                        countConnections(home, established)));
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        ProcessStats stats(long rssBytes) {
            return new ProcessStats(cpuMicros, rssBytes, threads, connections);
        }

        Part plus(Part other) {
            return new Part(
                    cpuMicros + other.cpuMicros,
                    ownBytes + other.ownBytes,
                    Math.max(sharedBytes, other.sharedBytes),
                    threads + other.threads,
                    connections + other.connections);
        }
    }

    /**
     * The memory of a process and its descendants; {@code pssBytes} divides shared pages among their users.
     */
    record Memory(long rssBytes, long pssBytes) {

        static Memory of(long pid) {
            return tree(pid)
                    .map(one -> of(home(one)))
                    .reduce(
                            new Memory(0, 0),
                            (one, other) -> new Memory(one.rssBytes + other.rssBytes, one.pssBytes + other.pssBytes));
        }

        private static Memory of(Path home) {
            try {
                Path rollup = home.resolve("smaps_rollup");
                return new Memory(bytes(rollup, "Rss:"), bytes(rollup, "Pss:"));
            } catch (IOException e) {
                // The process has ended.
                return new Memory(0, 0);
            }
        }
    }

    /** The live processes of a session. The session outlives its first process. */
    static List<ProcessHandle> ofSession(long session) {
        return ProcessHandle.allProcesses()
                .filter(process -> session(process.pid()) == session)
                .toList();
    }

    private static long session(long pid) {
        try {
            String[] stat = stat(home(pid));
            boolean zombie = stat[0].equals("Z");
            return zombie ? 0 : Long.parseLong(stat[3]);
        } catch (IOException e) {
            return 0;
        }
    }

    private static Path home(long pid) {
        return Path.of("/proc", Long.toString(pid));
    }

    private static Stream<Long> tree(long pid) {
        return Stream.concat(
                Stream.of(pid),
                ProcessHandle.of(pid).stream()
                        .flatMap(ProcessHandle::descendants)
                        .map(ProcessHandle::pid));
    }

    /** The fields of {@code stat} from the state on: the name before it may contain spaces. */
    private static String[] stat(Path home) throws IOException {
        String stat = Files.readString(home.resolve("stat"));
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    }

    private static long bytes(Path file, String field) throws IOException {
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(field))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                .findFirst()
                .orElse(0);
    }

    /** The sockets of all established TCP connections of the machine: read once for all processes. */
    static Set<String> establishedSockets() {
        Set<String> established = new HashSet<>();
        for (String table : List.of("/proc/self/net/tcp", "/proc/self/net/tcp6")) {
            try (Stream<String> lines = Files.lines(Path.of(table))) {
                lines.map(line -> line.strip().split("\\s+", -1))
                        .filter(fields -> fields.length > 9 && fields[3].equals(ESTABLISHED))
                        .forEach(fields -> established.add("socket:[" + fields[9] + "]"));
            } catch (IOException | UncheckedIOException e) {
                // This protocol is not available.
            }
        }
        return established;
    }

    private static int countConnections(Path home, Set<String> established) throws IOException {
        int count = 0;
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(home.resolve("fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    if (established.contains(Files.readSymbolicLink(descriptor).toString())) {
                        count++;
                    }
                } catch (IOException e) {
                    // Closed in the meantime.
                }
            }
        }
        return count;
    }
}
