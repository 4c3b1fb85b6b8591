package io.weir.config.check;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** Checks configuration files without starting anything, each as if the gateway were to run with it. */
final class ValidateCommand {

    private static final Pattern SUPPORTED = Pattern.compile(".*\\.(yml|yaml|properties)");
    /** They mean something in Spring Boot's locations. */
    private static final Pattern SPECIAL_CHARACTERS = Pattern.compile(".*[,;*?#%\\[\\]].*");

    private final PrintStream out;
    private final List<String> properties;

    /**
     * A command.
     *
     * @param properties what wins over the files, as on the command line
     */
    ValidateCommand(PrintStream out, List<String> properties) {
        this.out = out;
        this.properties = List.copyOf(properties);
    }

    /** Checks the files, prints what is wrong with them, and returns the exit code: 0 if nothing is. */
    int run(List<Path> files) {
        List<ConfigurationProblem> all = new ArrayList<>();
        for (Path file : files) {
            ValidationReport report = check(file);
            if (report.isValid()) {
                out.println(file + ": ok (" + ValidationReport.count(report.backends(), "backend") + ", "
                        + ValidationReport.count(report.routes(), "route") + ')');
            } else {
                out.print(report.lines());
                all.addAll(report.problems());
            }
        }
        if (all.isEmpty()) {
            return 0;
        }
        out.println(ValidationReport.of(all).summary());
        return 1;
    }

    private ValidationReport check(Path file) {
        return fileProblem(file)
                .map(problem -> ValidationReport.of(List.of(problem)))
                .orElseGet(
                        () -> ConfigurationCheck.ofArguments(CommandLine.springArguments(List.of(file), properties)));
    }

    /** Why a file cannot be read at all. */
    static Optional<ConfigurationProblem> fileProblem(Path file) {
        String why;
        if (!Files.exists(file)) {
            why = "no such file";
        } else if (!Files.isRegularFile(file)) {
            why = "not a file";
        } else if (!Files.isReadable(file)) {
            why = "not readable";
        } else if (!SUPPORTED.matcher(file.toString().toLowerCase(Locale.ROOT)).matches()) {
            why = "unknown kind of file (expected: .yml, .yaml or .properties)";
        } else if (SPECIAL_CHARACTERS.matcher(file.toString()).matches()) {
            why = "file names with any of , ; * ? # % [ ] cannot be read";
        } else {
            return Optional.empty();
        }
        return Optional.of(ConfigurationProblem.of(SourceLocation.inFile(file.toString(), 0), "", null, why));
    }
}
