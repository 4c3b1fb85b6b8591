package io.weir.perf.run;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** What the machine that this runs on has: programs, free ports, open files. */
public final class Host {

    private static final String RAISE =
            "ulimit -n \"$0\" 2>/dev/null || ulimit -n \"$(ulimit -H -n)\" 2>/dev/null || :";

    /** Where ports for servers begin that are free. */
    private static final int FIRST_PORT = 10_000;

    /** Those that were given: who asks twice gets two. */
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private Host() {}

    /** A port that is free, and that the kernel gives to no outgoing connection before it is used: those are many here. */
    public static int freePort() {
        int end = Proc.firstOutgoingPort();
        while (true) {
            int port = end > FIRST_PORT ? ThreadLocalRandom.current().nextInt(FIRST_PORT, end) : 0;
            try (ServerSocket free = new ServerSocket(port)) {
                if (GIVEN.add(free.getLocalPort())) {
                    return free.getLocalPort();
                }
            } catch (BindException e) {
                // Somebody has it: another one.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** A command that may have so many files open, or as many as this user is allowed. */
    public static List<String> withOpenFiles(int files, List<String> command) {
        List<String> raised =
                new ArrayList<>(List.of("/bin/sh", "-c", RAISE + "; exec \"$@\"", Integer.toString(files)));
        raised.addAll(command);
        return List.copyOf(raised);
    }

    /** The first words that a program says of itself. */
    public static String saysFirst(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            process.getOutputStream().close();
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty())
                    .findFirst()
                    .orElse("unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }

    /** Whether a program is there. */
    public static boolean has(String program) {
        for (String directory :
                Objects.requireNonNullElse(System.getenv("PATH"), "").split(":", -1)) {
            if (Files.isExecutable(Path.of(directory, program))) {
                return true;
            }
        }
        return false;
    }
}
