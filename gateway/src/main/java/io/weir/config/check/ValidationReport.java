package io.weir.config.check;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;

/**
 * All problems of a configuration.
 *
 * @param problems the problems without duplicates, sorted by file and line
 * @param backends number of backends
 * @param routes number of routes
 */
public record ValidationReport(List<ConfigurationProblem> problems, int backends, int routes) {

    /** Sorts the problems and removes duplicates. */
    public ValidationReport {
        problems = problems.stream().sorted().distinct().toList();
    }

    static ValidationReport of(Collection<ConfigurationProblem> problems) {
        return new ValidationReport(List.copyOf(problems), 0, 0);
    }

    /** The report with the problems of certificates. */
    ValidationReport withCertificates(ConfigurationSources sources) {
        if (!sources.areReadable()) {
            return this;
        }
        List<ConfigurationProblem> all = new ArrayList<>(problems);
        new CertificatesCheck(sources.environment(), sources.rawTree(), all::add).check();
        return new ValidationReport(all, backends, routes);
    }

    /** The report without what another environment may have. */
    ValidationReport withoutUnresolved() {
        return new ValidationReport(
                problems.stream().filter(problem -> !problem.isUnresolved()).toList(), backends, routes);
    }

    /** Whether a gateway can start with this configuration. */
    public boolean isValid() {
        return problems.isEmpty();
    }

    /** One line for each problem. */
    public String lines() {
        return problems.stream()
                .map(problem -> problem + System.lineSeparator())
                .collect(Collectors.joining());
    }

    /** {@code 3 problems in 2 files}. */
    public String summary() {
        long files = problems.stream()
                .map(ConfigurationProblem::location)
                .filter(SourceLocation::isFile)
                .map(SourceLocation::source)
                .distinct()
                .count();
        String problemCount = count(problems.size(), "problem");
        return files == 0 ? problemCount : problemCount + " in " + count(files, "file");
    }

    static String count(long number, String noun) {
        return number == 1 ? "1 " + noun : number + " " + noun + 's';
    }

    /** The problems and the summary. */
    @Override
    public String toString() {
        return lines() + summary();
    }
}
