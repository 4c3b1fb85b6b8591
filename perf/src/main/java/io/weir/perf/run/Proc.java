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
 * A process as the kernel sees it.
 *
 * @param cpuMicros processor time since its start
 * @param rssBytes memory that is really there, shared pages included
 * @param threads of the kernel
 * @param connections established TCP connections
 */
record Proc(long cpuMicros, long rssBytes, int threads, int connections) {

    /** Of Linux on every machine that Java runs on: sysconf(_SC_CLK_TCK). */
    private static final long MICROS_PER_TICK = 10_000;

    private static final String ESTABLISHED = " 01 ";
    private static final String ROLLUP = "smaps_rollup";

    /**
     * As it is now; empty if it has ended.
     *
     * @param established what {@link #established} has just said
     */
    static Optional<Proc> of(long pid, Set<String> established) {
        Path home = Path.of("/proc", Long.toString(pid));
        try {
            return Optional.of(of(home, size(home.resolve(ROLLUP), "Rss:"), established));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    private static Proc of(Path home, long rssBytes, Set<String> established) throws IOException {
        String[] fields = fields(home);
        return new Proc(
                (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * MICROS_PER_TICK,
                rssBytes,
                Integer.parseInt(fields[17]),
                connections(home, established));
    }

    /** With those that it has started, such as workers, together; pages that they share count once. */
    static Optional<Proc> ofAll(long pid, Set<String> established) {
        List<Long> all = tree(pid).toList();
        return all.size() == 1
                ? of(pid, established)
                : all.stream()
                        .flatMap(one -> One.of(one, established).stream())
                        .reduce(One::plus)
                        .map(One::whole);
    }

    /** One of several, with what is its own apart from what it may share: looked at often, so without a walk through all its pages. */
    private record One(Proc own, long sharedBytes) {

        static Optional<One> of(long pid, Set<String> established) {
            Path home = Path.of("/proc", Long.toString(pid));
            try {
                Path status = home.resolve("status");
                return Optional.of(new One(
                        Proc.of(home, size(status, "RssAnon:"), established),
                        size(status, "RssFile:") + size(status, "RssShmem:")));
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        One plus(One other) {
            return new One(
                    new Proc(
                            own.cpuMicros + other.own.cpuMicros,
                            own.rssBytes + other.own.rssBytes,
                            own.threads + other.own.threads,
                            own.connections + other.own.connections),
                    Math.max(sharedBytes, other.sharedBytes));
        }

        Proc whole() {
            return new Proc(own.cpuMicros, own.rssBytes + sharedBytes, own.threads, own.connections);
        }
    }

    /** Those of a session that go on: what its first process has started, and theirs, also if that has ended. */
    static List<ProcessHandle> ofSession(long session) {
        return ProcessHandle.allProcesses()
                .filter(process -> session(process.pid()) == session)
                .toList();
    }

    private static long session(long pid) {
        try {
            String[] fields = fields(Path.of("/proc", Long.toString(pid)));
            // One that has ended, and that nobody has asked for its status, is none any more.
            return fields[0].equals("Z") ? 0 : Long.parseLong(fields[3]);
        } catch (IOException e) {
            return 0;
        }
    }

    /** Of its stat behind the name, which may hold spaces: from the third on, its state. */
    private static String[] fields(Path home) throws IOException {
        String stat = Files.readString(home.resolve("stat"));
        return stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
    }

    private static Stream<Long> tree(long pid) {
        return Stream.concat(
                Stream.of(pid),
                ProcessHandle.of(pid).stream()
                        .flatMap(ProcessHandle::descendants)
                        .map(ProcessHandle::pid));
    }

    /**
     * The memory of a process and of those that it has started, now.
     *
     * @param rssBytes what is really there; pages that they share count for each
     * @param pssBytes of pages that are shared with others its share
     */
    record Memory(long rssBytes, long pssBytes) {

        static Memory of(long pid) {
            return tree(pid)
                    .map(one -> Path.of("/proc", Long.toString(one)))
                    .map(home -> {
                        try {
                            Path rollup = home.resolve(ROLLUP);
                            return new Memory(size(rollup, "Rss:"), size(rollup, "Pss:"));
                        } catch (IOException e) {
                            return new Memory(0, 0);
                        }
                    })
                    .reduce(new Memory(0, 0), Memory::plus);
        }

        private Memory plus(Memory other) {
            return new Memory(rssBytes + other.rssBytes, pssBytes + other.pssBytes);
        }
    }

    private static long size(Path file, String what) throws IOException {
        for (String line : Files.readAllLines(file)) {
            if (line.startsWith(what)) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        return 0;
    }

    /** The established TCP connections of this machine, by the name of their sockets. Read once for all processes: the closed ones are many. */
    static Set<String> established() {
        Set<String> established = new HashSet<>();
        for (Path table : List.of(Path.of("/proc/self/net/tcp"), Path.of("/proc/self/net/tcp6"))) {
            try (Stream<String> lines = Files.lines(table)) {
                lines.filter(line -> line.contains(ESTABLISHED)).forEach(line -> {
                    String[] fields = line.strip().split("\\s+", -1);
                    if (fields.length > 9 && fields[3].equals(ESTABLISHED.strip())) {
                        established.add("socket:[" + fields[9] + "]");
                    }
                });
            } catch (IOException | UncheckedIOException e) {
                // There is no such table where there is no such protocol.
            }
        }
        return established;
    }

    private static int connections(Path home, Set<String> established) throws IOException {
        int count = 0;
        try (DirectoryStream<Path> descriptors = Files.newDirectoryStream(home.resolve("fd"))) {
            for (Path descriptor : descriptors) {
                try {
                    if (established.contains(Files.readSymbolicLink(descriptor).toString())) {
                        count++;
                    }
                } catch (IOException e) {
                    // Closed meanwhile.
                }
            }
        }
        return count;
    }

    /** The numbers of the cores that this process may use: no more than it is granted where a quota is below their number. */
    static List<Integer> cores() {
        List<Integer> allowed = allowed();
        return allowed.subList(0, Math.min(allowed.size(), Runtime.getRuntime().availableProcessors()));
    }

    private static List<Integer> allowed() {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
                if (line.startsWith("Cpus_allowed_list:")) {
                    return range(line.substring(line.indexOf(':') + 1).strip());
                }
            }
        } catch (IOException e) {
            // Not Linux.
        }
        return range("0-" + (Runtime.getRuntime().availableProcessors() - 1));
    }

    /** The first of the ports that the kernel gives to outgoing connections; 0 if that is not known. */
    static int firstOutgoingPort() {
        try {
            // Not read in parts: this file has no second one.
            String range = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_local_port_range"))
                    .getFirst();
            return Integer.parseInt(range.strip().split("\\s+", 2)[0]);
        } catch (IOException e) {
            // Not Linux.
            return 0;
        }
    }

    /** What {@code 0-2,5} stands for. */
    static List<Integer> range(String text) {
        List<Integer> numbers = new java.util.ArrayList<>();
        for (String part : text.split(",", -1)) {
            String[] ends = part.split("-", 2);
            int last = Integer.parseInt(ends[ends.length - 1]);
            for (int number = Integer.parseInt(ends[0]); number <= last; number++) {
                numbers.add(number);
            }
        }
        return List.copyOf(numbers);
    }
}
