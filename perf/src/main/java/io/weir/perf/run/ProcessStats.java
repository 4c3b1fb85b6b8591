package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The figures of a process in {@code /proc}. No library that reads them counts shared pages once.
 *
 * @param cpuMicros CPU time since its start
 * @param ownBytes resident memory without shared pages
 * @param sharedBytes resident shared pages
 * @param connections established TCP connections
 */
record ProcessStats(long cpuMicros, long ownBytes, long sharedBytes, long threads, long connections) {

    /** {@code sysconf(_SC_CLK_TCK)} is 100 on all Linux platforms with Java. */
    private static final long MICROS_PER_TICK = 10_000;

    private static final String ESTABLISHED = "01";

    private static final Pattern NUMBER = Pattern.compile("^(\\w+):\\s+(\\d+)", Pattern.MULTILINE);

    long rssBytes() {
        return ownBytes + sharedBytes;
    }

    private ProcessStats plus(ProcessStats other) {
        return new ProcessStats(
                cpuMicros + other.cpuMicros,
                ownBytes + other.ownBytes,
                Math.max(sharedBytes, other.sharedBytes),
                threads + other.threads,
                connections + other.connections);
    }

    /** The current values of one process; empty if it has ended. */
    static Optional<ProcessStats> of(long pid, Set<String> established) {
        try {
            Path home = home(pid);
            String[] stat = stat(home);
            // Less exact than smaps_rollup, but a walk through all pages of many processes is slow.
            Map<String, Long> status = numbers(home.resolve("status"));
            return Optional.of(new ProcessStats(
                    (Long.parseLong(stat[11]) + Long.parseLong(stat[12])) * MICROS_PER_TICK,
                    1024 * status.getOrDefault("RssAnon", 0L),
                    1024 * (status.getOrDefault("RssFile", 0L) + status.getOrDefault("RssShmem", 0L)),
                    status.getOrDefault("Threads", 0L),
                    countConnections(home, established)));
        } catch (IOException | UncheckedIOException e) {
            return Optional.empty();
        }
    }

    /** The sum for a process and its descendants. Pages that they share count once. */
    static Optional<ProcessStats> ofTree(long pid, Set<String> established) {
        return tree(pid).flatMap(one -> of(one, established).stream()).reduce(ProcessStats::plus);
    }

    /**
     * The exact memory of a process and its descendants: {@code Rss}, or {@code Pss}, which divides shared
     * pages.
     */
    static long memoryBytes(long pid, String kind) {
        return tree(pid).mapToLong(one -> memoryKilobytes(home(one), kind)).sum() * 1024;
    }

    private static long memoryKilobytes(Path home, String kind) {
        try {
            return numbers(home.resolve("smaps_rollup")).getOrDefault(kind, 0L);
        } catch (IOException e) {
            // The process has ended.
            return 0;
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

    /** The lines {@code NAME: NUMBER} of a file. */
    private static Map<String, Long> numbers(Path file) throws IOException {
        Map<String, Long> numbers = new HashMap<>();
        for (MatchResult line : NUMBER.matcher(Files.readString(file)).results().toList()) {
            numbers.put(line.group(1), Long.parseLong(line.group(2)));
        }
        return numbers;
    }

    /** The sockets of all established TCP connections of the machine: read once for all processes. */
    static Set<String> establishedSockets() {
        return Stream.of("/proc/self/net/tcp", "/proc/self/net/tcp6")
                .map(Path::of)
                .filter(Files::exists)
                .flatMap(ProcessStats::lines)
                .map(line -> line.strip().split("\\s+", -1))
                .filter(fields -> fields.length > 9 && fields[3].equals(ESTABLISHED))
                .map(fields -> "socket:[" + fields[9] + "]")
                .collect(Collectors.toSet());
    }

    private static Stream<String> lines(Path file) {
        try {
            return Files.readAllLines(file).stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static long countConnections(Path home, Set<String> established) throws IOException {
        try (Stream<Path> descriptors = Files.list(home.resolve("fd"))) {
            return descriptors.filter(one -> established.contains(target(one))).count();
        }
    }

    private static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            // Closed in the meantime.
            return "";
        }
    }
}
