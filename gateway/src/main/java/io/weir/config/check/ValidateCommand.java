package io.weir.config.check;

import io.weir.config.check.ConfigurationCheck.CheckResult;
import java.io.IOException;
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

    /** A file of white space alone is not longer. */
    private static final int MAX_BLANK_BYTES = 4_096;

    private final PrintStream out;
    private final List<String> properties;
    private final boolean withoutEnvironment;

    /**
     * A command.
     *
     * @param properties command line properties, which override the files
     * @param withoutEnvironment whether a placeholder without a value is only a warning, since the gateway
     *     starts in another environment
     */
    ValidateCommand(PrintStream out, List<String> properties, boolean withoutEnvironment) {
        this.out = out;
        this.properties = List.copyOf(properties);
        this.withoutEnvironment = withoutEnvironment;
    }

    /**
     * Validates the files and prints their problems. Returns the exit code: 0 if all files are valid, else 1.
     */
    int run(List<Path> files) {
        List<ConfigurationProblem> all = new ArrayList<>();
        for (Path file : files) {
            CheckResult result = check(file);
            List<ConfigurationProblem> warnings = new ArrayList<>();
            ValidationReport report = result.report();
            if (withoutEnvironment) {
                report.problems().stream()
                        .filter(ConfigurationProblem::isUnresolved)
                        .forEach(warnings::add);
                report = report.withoutUnresolved();
            }
            if (report.isValid()) {
                // Beside a problem, such as a misspelt backend, a warning would mislead.
                warnings.addAll(result.warnings().get());
            }
            warnings.stream().sorted().distinct().forEach(warning -> out.println("warning: " + warning));
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

    private CheckResult check(Path file) {
        return fileProblem(file)
                .map(problem -> new CheckResult(ValidationReport.of(List.of(problem)), new ValidValues()))
                .orElseGet(() -> ConfigurationCheck.resultOf(CommandLine.springArguments(List.of(file), properties)));
    }

    /** Whether a file has no content; a start and a reload refuse it alike. */
    static boolean isEmpty(Path file) throws IOException {
        long size = Files.size(file);
        return size == 0 || (size <= MAX_BLANK_BYTES && isBlank(Files.readAllBytes(file)));
    }

    private static boolean isBlank(byte[] text) {
        for (byte each : text) {
            if (each != ' ' && each != '\n' && each != '\r' && each != '\t') {
                return false;
            }
        }
        return true;
    }

    private static boolean isEmptyOrUnreadable(Path file) {
        try {
            return isEmpty(file);
        } catch (IOException e) {
            return true;
        }
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
        } else if (isEmptyOrUnreadable(file)) {
            why = "empty";
        } else {
            return Optional.empty();
        }
        return Optional.of(ConfigurationProblem.of(SourceLocation.inFile(file.toString(), 0), "", null, why));
    }
}
