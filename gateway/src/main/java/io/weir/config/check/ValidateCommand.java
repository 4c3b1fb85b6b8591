package io.weir.config.check;

import io.weir.config.check.ConfigurationCheck.CheckResult;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Validates configuration files without starting the gateway, each file separately, and compares each with a
 * file that a running gateway may have.
 */
final class ValidateCommand {

    /** A file is valid, but a running gateway needs a restart for it. */
    private static final int NEEDS_RESTART = 6;

    private final PrintStream out;
    private final List<String> properties;
    private final boolean withoutEnvironment;
    private final @Nullable Path against;

    /**
     * A command.
     *
     * @param properties command line properties, which override the files
     * @param withoutEnvironment whether a placeholder without a value is only a warning, since the gateway
     *     starts in another environment
     * @param against the file that each file is compared with; null: none
     */
    ValidateCommand(PrintStream out, List<String> properties, boolean withoutEnvironment, @Nullable Path against) {
        this.out = out;
        this.properties = List.copyOf(properties);
        this.withoutEnvironment = withoutEnvironment;
        this.against = against;
    }

    /**
     * Validates the files and prints their problems. Returns the exit code: 0 if all files are valid and a
     * reload would apply them, 1 if one is invalid, else 6.
     */
    int run(List<Path> files) {
        if (against != null && !isValidOld(against)) {
            return 1;
        }
        List<ConfigurationProblem> all = new ArrayList<>();
        boolean needsRestart = false;
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
                needsRestart |= against != null && !printChanges(against, file);
            } else {
                out.print(report.lines());
                all.addAll(report.problems());
            }
        }
        if (all.isEmpty()) {
            return needsRestart ? NEEDS_RESTART : 0;
        }
        out.println(ValidationReport.of(all).summary());
        return 1;
    }

    /** Whether the file was valid; prints its problems if not: no gateway runs with it. */
    private boolean isValidOld(Path old) {
        ValidationReport report = check(old).report();
        ValidationReport problems = withoutEnvironment ? report.withoutUnresolved() : report;
        if (!problems.isValid()) {
            out.print(problems.lines());
            out.println(problems.summary() + " (expected after --against: a valid file)");
        }
        return problems.isValid();
    }

    /** Prints what changes from the old file to the new one. Returns whether a reload would apply it. */
    private boolean printChanges(Path old, Path file) {
        ConfigurationDifference difference = new ConfigurationDifference(snapshot(old), snapshot(file));
        out.println(difference.isEmpty() ? "  nothing changes against " + old : "  changes against " + old + ":");
        difference.changedValues().forEach(change -> out.println("  " + change));
        List<ConfigurationProblem> refused = difference.problems();
        refused.forEach(out::println);
        if (!refused.isEmpty()) {
            out.println(file + ": a reload would refuse this file, since "
                    + (refused.size() == 1 ? "a change needs" : refused.size() + " changes need") + " a restart");
        }
        return refused.isEmpty();
    }

    private ConfigurationSnapshot snapshot(Path file) {
        return CheckedConfiguration.read(NamedFiles.arguments(List.of(file), properties))
                .snapshot();
    }

    private CheckResult check(Path file) {
        return NamedFiles.problem(file)
                .map(problem -> new CheckResult(ValidationReport.of(List.of(problem)), new ValidValues()))
                .orElseGet(() -> ConfigurationCheck.resultOf(NamedFiles.arguments(List.of(file), properties)));
    }
}
