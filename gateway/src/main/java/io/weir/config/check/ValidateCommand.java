package io.weir.config.check;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/** Validates configuration files without starting the gateway, each file separately. */
final class ValidateCommand {

    private static final Pattern SUPPORTED = Pattern.compile(".*\\.(yml|yaml|properties)");
    /** Characters with a special meaning in Spring Boot's file locations. */
    private static final Pattern SPECIAL_CHARACTERS = Pattern.compile(".*[,;*?#%\\[\\]].*");

    private final PrintStream out;
    private final List<String> properties;

    /**
     * A command.
     *
     * @param properties command line properties, which override the files
     */
    ValidateCommand(PrintStream out, List<String> properties) {
        this.out = out;
        this.properties = List.copyOf(properties);
    }

    /**
     * Validates the files and prints their problems. Returns the exit code: 0 if all files are valid, else 1.
     */
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

    /** The problem of an unreadable file. */
    static Optional<ConfigurationProblem> fileProblem(Path file) {
        String why;
        if (!Files.exists(file)) {
            why = "no such file";
        } else if (!Files.isRegularFile(file)) {
            why = "not a file";
        } else if (!Files.isReadable(file)) {
            why = "not readable";
        } else if (!SUPPORTED.matcher(file.toString().toLowerCase(Locale.ROOT)).matches()) {
            why = "unsupported file type (expected: .yml, .yaml or .properties)";
        } else if (SPECIAL_CHARACTERS.matcher(file.toString()).matches()) {
            why = "unsupported file name (expected: none of , ; * ? # % [ ])";
        } else {
            return Optional.empty();
        }
        return Optional.of(ConfigurationProblem.of(SourceLocation.inFile(file.toString(), 0), "", null, why));
    }
}
