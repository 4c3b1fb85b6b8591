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

    /**
     * As it is now; empty if it has ended.
     *
     * @param established what {@link #established} has just said
     */
    static Optional<Proc> of(long pid, Set<String> established) {
        Path home = Path.of("/proc", Long.toString(pid));
        try {
            String stat = Files.readString(home.resolve("stat"));
            // Behind the name, which may hold spaces: fields from the third on.
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
            return Optional.of(new Proc(
                    (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * MICROS_PER_TICK,
                    size(home, "Rss:"),
                    Integer.parseInt(fields[17]),
                    connections(home, established)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** With those that it has started, such as workers, together; pages that they share count for each. */
    static Optional<Proc> ofAll(long pid, Set<String> established) {
        return tree(pid)
                .flatMap(one -> of(one, established).stream())
                .reduce((first, second) -> new Proc(
                        first.cpuMicros + second.cpuMicros,
                        first.rssBytes + second.rssBytes,
                        first.threads + second.threads,
                        first.connections + second.connections));
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
                            return new Memory(size(home, "Rss:"), size(home, "Pss:"));
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

    private static long size(Path home, String what) throws IOException {
        for (String line : Files.readAllLines(home.resolve("smaps_rollup"))) {
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

    /** The numbers of the cores that this process may use. */
    static List<Integer> cores() {
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
