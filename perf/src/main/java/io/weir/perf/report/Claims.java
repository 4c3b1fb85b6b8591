package io.weir.perf.report;

import io.weir.perf.result.CsvTable;
import io.weir.perf.result.RunFigures;
import io.weir.perf.result.RunResult;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Compares claimed figures with measured ones.
 *
 * <p>A claim is a number ({@code 109}), a bound ({@code <19}, {@code >=99}), or a comparison with another
 * figure ({@code <webflux/p99-ms}). The tolerance is a percentage of the claim ({@code 20%}) or an amount in
 * its unit ({@code 0.05}); it also widens bounds. If a figure disagrees, the first explanation whose
 * condition holds in this run is shown.
 */
record Claims(List<Claim> claims, List<Explanation> explanations) {

    private static final Pattern CLAIMED = Pattern.compile("(<=|>=|<|>|)\\s*([^<>=\\s]\\S*)");
    private static final Pattern CONDITION = Pattern.compile("(\\S+)\\s+(<=|>=|<|>|=)\\s+(\\S+)");

    /** Whether the measured figure agrees with the claim. */
    enum Agreement {
        YES,
        NO,
        NOT_MEASURED;

        String text() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * A line of the table.
     *
     * @param reference the claimed number, or the figure that the claim names
     * @param explanation why the figure disagrees or was not measured; empty: unknown
     */
    record ComparedClaim(
            Claim claim, OptionalDouble reference, OptionalDouble measured, Agreement agreement, String explanation) {

        String name() {
            return claim.name;
        }
    }

    record Claim(String experiment, String name, String claimed, String unit, String tolerance, String source) {
        Claim {
            CsvTable.check(
                    CLAIMED.matcher(claimed).matches(),
                    "claimed",
                    claimed,
                    "a number, or <, <=, >, >= and a number or a figure's name");
            CsvTable.check(
                    tolerance.matches("|\\d+(\\.\\d+)?%?"),
                    "tolerance",
                    tolerance,
                    "nothing, a number in the claim's unit, or a number with %");
            CsvTable.check(!source.isBlank(), "source", source, "a name");
        }
    }

    record Explanation(String experiment, String name, String condition, String why) {
        Explanation {
            CsvTable.check(
                    parts(condition).allMatch(part -> CONDITION.matcher(part).matches()),
                    "condition",
                    condition,
                    "a figure or property, one of < <= > >= =, a value; joined by and");
        }
    }

    private static final CsvTable<Claim> CLAIMS = new CsvTable<>("claims.csv", Claim.class);
    private static final CsvTable<Explanation> EXPLANATIONS = new CsvTable<>("whys.csv", Explanation.class);

    static Claims shipped() {
        return new Claims(CLAIMS.readResource(), EXPLANATIONS.readResource());
    }

    static Claims in(Path directory) {
        return new Claims(CLAIMS.read(directory), EXPLANATIONS.read(directory));
    }

    private static Stream<String> parts(String condition) {
        return Stream.of(condition.split(" and ", -1));
    }

    /** Compares all claims about a run's experiment. */
    List<ComparedClaim> compare(RunResult run, RunFigures figures) {
        return claims.stream()
                .filter(claim -> claim.experiment.equals(run.property("experiment")))
                .map(claim -> compare(claim, run, figures))
                .toList();
    }

    private ComparedClaim compare(Claim claim, RunResult run, RunFigures figures) {
        OptionalDouble measured = figures.get(claim.name);
        Matcher claimed = CLAIMED.matcher(claim.claimed);
        if (!claimed.matches()) {
            throw new IllegalStateException(claim.claimed);
        }
        OptionalDouble reference = number(claimed.group(2), figures);
        Agreement agreement = measured.isEmpty() || reference.isEmpty()
                ? Agreement.NOT_MEASURED
                : holds(measured.getAsDouble(), claimed.group(1), reference.getAsDouble(), claim.tolerance)
                        ? Agreement.YES
                        : Agreement.NO;
        String explanation = agreement == Agreement.YES ? "" : explain(claim, run, figures);
        return new ComparedClaim(claim, reference, measured, agreement, explanation);
    }

    private static boolean holds(double measured, String operator, double claimed, String tolerance) {
        double amount = tolerance.isEmpty() ? 0 : Double.parseDouble(tolerance.replace("%", ""));
        double slack = tolerance.endsWith("%") ? Math.abs(claimed) * amount / 100 : amount;
        return switch (operator) {
            case "<" -> measured < claimed + slack;
            case "<=" -> measured <= claimed + slack;
            case ">" -> measured > claimed - slack;
            case ">=" -> measured >= claimed - slack;
            default -> Math.abs(measured - claimed) <= slack;
        };
    }

    private String explain(Claim claim, RunResult run, RunFigures figures) {
        return explanations.stream()
                .filter(one -> one.experiment.equals(claim.experiment)
                        && (one.name.equals("*") || one.name.equals(claim.name))
                        && parts(one.condition).allMatch(part -> holds(part, run, figures)))
                .map(Explanation::why)
                .findFirst()
                .orElse("");
    }

    private static boolean holds(String condition, RunResult run, RunFigures figures) {
        Matcher words = CONDITION.matcher(condition);
        if (!words.matches()) {
            return false;
        }
        String left = words.group(1);
        String right = words.group(3);
        if (words.group(2).equals("=")) {
            return run.property(left).equals(right);
        }
        OptionalDouble first = number(run.properties().getOrDefault(left, left), figures);
        OptionalDouble second = number(run.properties().getOrDefault(right, right), figures);
        return first.isPresent()
                && second.isPresent()
                && holds(first.getAsDouble(), words.group(2), second.getAsDouble(), "");
    }

    private static OptionalDouble number(String text, RunFigures figures) {
        try {
            return OptionalDouble.of(Double.parseDouble(text));
        } catch (NumberFormatException e) {
            return figures.get(text);
        }
    }
}
