package io.weir.config.check;

import io.weir.config.check.ConfigurationCheck.CheckResult;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Validates configuration files without starting the gateway, each file separately. */
final class ValidateCommand {

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
        return NamedFiles.problem(file)
                .map(problem -> new CheckResult(ValidationReport.of(List.of(problem)), new ValidValues()))
                .orElseGet(() -> ConfigurationCheck.resultOf(NamedFiles.arguments(List.of(file), properties)));
    }
}
