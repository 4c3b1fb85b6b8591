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
import org.springframework.util.FileSystemUtils;

/**
 * The exit code and output of a launcher, or of the program that it starts.
 *
 */
public record Launcher(int exitCode, String out, String err) {

    private static final String EXPERIMENTS = "perf/src/main/java/io/weir/perf/experiment";
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** Runs a copy of a launcher in a directory where nothing is built and nothing can be built. */
    public static Launcher run(Path directory, String name, String... arguments) throws Exception {
        for (String file : List.of("perf/" + name, "ops/tools.sh", "ops/jdks.sh", EXPERIMENTS)) {
            Path copy = directory.resolve(file);
            Files.createDirectories(Objects.requireNonNull(copy.getParent()));
            FileSystemUtils.copyRecursively(ROOT.resolve(file), copy);
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

    /** Runs a program in this JVM. */
    public static Launcher program(Callable<Integer> program) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        ByteArrayOutputStream errors = new ByteArrayOutputStream();
        try {
            System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
            int exitCode = program.call();
            return new Launcher(
                    exitCode, output.toString(StandardCharsets.UTF_8), errors.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }
}
