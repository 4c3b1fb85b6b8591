package io.weir.perf;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * What a launcher, or the program behind it, has said before it ended.
 *
 * @param out on standard output
 * @param err on standard error
 */
public record Launcher(int exitCode, String out, String err) {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** A copy of a launcher of {@code perf}, where nothing is built, and nothing can be, since there are no sources. */
    public static Launcher run(Path directory, String name, String... arguments) throws Exception {
        for (String file : List.of("perf/" + name, "perf/experiments.txt", "ops/tools.sh")) {
            Path copy = directory.resolve(file);
            Files.createDirectories(Objects.requireNonNull(copy.getParent()));
            Files.copy(ROOT.resolve(file), copy);
        }
        List<String> command = new ArrayList<>(List.of("bash", "perf/" + name));
        command.addAll(List.of(arguments));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            if (!process.waitFor(1, TimeUnit.MINUTES)) {
                throw new AssertionError(command + " has not ended");
            }
        } finally {
            process.destroyForcibly();
        }
        return new Launcher(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    /** A program in this process. */
    public static Launcher program(Callable<Integer> program) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream outSaid = new ByteArrayOutputStream();
        ByteArrayOutputStream errSaid = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(outSaid, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(errSaid, true, StandardCharsets.UTF_8));
            int exitCode = program.call();
            return new Launcher(
                    exitCode, outSaid.toString(StandardCharsets.UTF_8), errSaid.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }
}
