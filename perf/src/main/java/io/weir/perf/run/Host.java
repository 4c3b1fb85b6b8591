package io.weir.perf.run;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The resources of this machine: cores, programs, free ports, open files. */
public final class Host {

    private static final String RAISE_LIMIT =
            "ulimit -n \"$0\" 2>/dev/null || ulimit -n \"$(ulimit -H -n)\" 2>/dev/null || :; exec \"$@\"";

    private static final int FIRST_PORT = 10_000;

    /** Ports that were handed out: two calls must not return the same one. */
    private static final Set<Integer> USED_PORTS = ConcurrentHashMap.newKeySet();

    private Host() {}

    /** A free port outside the range from which the kernel takes ports for outgoing connections. */
    public static int freePort() {
        int end = firstOutgoingPort();
        while (true) {
            int port = end > FIRST_PORT ? ThreadLocalRandom.current().nextInt(FIRST_PORT, end) : 0;
            try (ServerSocket free = new ServerSocket(port)) {
                if (USED_PORTS.add(free.getLocalPort())) {
                    return free.getLocalPort();
                }
            } catch (BindException e) {
                // In use: try another one.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** The first port for outgoing connections; 0 if unknown. */
    static int firstOutgoingPort() {
        try {
            // This file cannot be read in parts.
            String range = Files.readAllLines(Path.of("/proc/sys/net/ipv4/ip_local_port_range"))
                    .getFirst();
            return Integer.parseInt(range.strip().split("\\s+", 2)[0]);
        } catch (IOException e) {
            // Not Linux.
            return 0;
        }
    }

    /** Prefixes a command so that it may open that many files, or as many as this user is allowed. */
    public static List<String> withOpenFiles(int files, List<String> command) {
        List<String> prefixed = new ArrayList<>(List.of("/bin/sh", "-c", RAISE_LIMIT, Integer.toString(files)));
        prefixed.addAll(command);
        return List.copyOf(prefixed);
    }

    public static String firstLine(String... command) {
        return firstLine(Path.of(""), command);
    }

    static String firstLine(Path directory, String... command) {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toAbsolutePath().toFile())
                .redirectErrorStream(true);
        try (BufferedReader output = builder.start().inputReader()) {
            return output.lines()
                    .filter(line -> !line.isBlank())
                    .findFirst()
                    .orElse("unknown")
                    .strip();
        } catch (IOException e) {
            return "unknown";
        }
    }

    public static boolean has(String program) {
        String path = Objects.requireNonNullElse(System.getenv("PATH"), "");
        return Stream.of(path.split(":", -1)).anyMatch(directory -> Files.isExecutable(Path.of(directory, program)));
    }

    public static void require(String packages, String... programs) {
        for (String program : programs) {
            if (!has(program)) {
                throw new RunFailure(program + " is not installed: apt-get install " + packages);
            }
        }
    }

    public static String java() {
        return ProcessHandle.current().info().command().orElse("java");
    }

    public static String description() {
        String model = field(Path.of("/proc/cpuinfo"), "model name", "unknown processor");
        String kilobytes = field(Path.of("/proc/meminfo"), "MemTotal", "0").replaceAll("\\D", "");
        return model + ", " + Math.round(Long.parseLong(kilobytes) / 1024.0 / 1024) + " GiB, "
                + System.getProperty("os.name", "") + " " + System.getProperty("os.version", "");
    }

    /** The cores that this process may use; a smaller quota limits their number. */
    static List<Integer> cores() {
        int available = Runtime.getRuntime().availableProcessors();
        List<Integer> allowed = range(field(Path.of("/proc/self/status"), "Cpus_allowed_list", "0-" + (available - 1)));
        return allowed.subList(0, Math.min(allowed.size(), available));
    }

    /** The value of a line {@code name: value} of a file of {@code /proc}. */
    static String field(Path file, String name, String otherwise) {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.filter(line -> line.startsWith(name))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(otherwise);
        } catch (IOException | UncheckedIOException e) {
            return otherwise;
        }
    }

    /** Parses a list of ranges such as {@code 0-2,5}. */
    static List<Integer> range(String text) {
        return Stream.of(text.split(",", -1))
                .map(part -> part.split("-", 2))
                .flatMap(ends -> IntStream.rangeClosed(
                                Integer.parseInt(ends[0]), Integer.parseInt(ends[ends.length - 1]))
                        .boxed())
                .toList();
    }
}
