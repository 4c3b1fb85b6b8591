package io.weir.perf.report;

import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What was claimed, beside what was measured.
 *
 * <p>A claim is a number ({@code 109}), a bound ({@code <19}, {@code >=99}), or a word for one figure against another ({@code <webflux/p99-ms}). A number is agreed with within its
 * tolerance, in percent of it ({@code 20%}) or in its unit ({@code 0.05}); a bound is widened by it. Where a figure does not agree, the first explanation
 * whose condition holds in this run is given, or none.
 */
final class Claims {

    private static final Pattern CLAIMED = Pattern.compile("(<=|>=|<|>)?\\s*(\\S+)");
    private static final Pattern CONDITION = Pattern.compile("(\\S+)\\s+(<=|>=|<|>|=)\\s+(\\S+)");

    /** Whether the measured figure is the claimed one. */
    enum Agreement {
        YES,
        NO,
        NOT_MEASURED;

        String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * A line of the table.
     *
     * @param beside the figure that the claim names, or the number that it is
     * @param why it does not agree, or could not be measured; empty: not known
     */
    record Line(
            String name,
            String claimed,
            OptionalDouble beside,
            String unit,
            String tolerance,
            OptionalDouble measured,
            Agreement agreement,
            String why,
            String source) {}

    private record Claim(
            RawFile.Row row,
            String experiment,
            String name,
            String claimed,
            String unit,
            String tolerance,
            String source) {}

    private record Why(RawFile.Row row, String experiment, String name, String condition, String why) {}

    private final List<Claim> claims;
    private final List<Why> whys;

    private Claims(List<Claim> claims, List<Why> whys) {
        this.claims = claims;
        this.whys = whys;
    }

    /** Those that come with the program. */
    static Claims shipped() {
        return new Claims(
                RawFile.shipped(
                        "/claims.csv",
                        List.of("experiment", "name", "claimed", "unit", "tolerance", "source"),
                        Claims::claim),
                RawFile.shipped("/whys.csv", List.of("experiment", "name", "condition", "why"), Claims::why));
    }

    /** Those of a directory's {@code claims.csv} and {@code whys.csv}. */
    static Claims in(java.nio.file.Path directory) {
        return new Claims(
                RawFile.read(
                        directory.resolve("claims.csv"),
                        List.of("experiment", "name", "claimed", "unit", "tolerance", "source"),
                        Claims::claim),
                RawFile.read(
                        directory.resolve("whys.csv"), List.of("experiment", "name", "condition", "why"), Claims::why));
    }

    private static Claim claim(RawFile.Row row) {
        String claimed = row.name("claimed");
        if (!CLAIMED.matcher(claimed).matches()) {
            throw row.wrong("claimed", claimed, "a number, or <, <=, >, >= and a number or a figure's name");
        }
        String tolerance = row.text("tolerance");
        if (!tolerance.matches("|\\d+(\\.\\d+)?%?")) {
            throw row.wrong("tolerance", tolerance, "nothing, a number in the claim's unit, or a number with %");
        }
        return new Claim(
                row,
                row.name("experiment"),
                row.name("name"),
                claimed,
                row.text("unit"),
                tolerance,
                row.name("source"));
    }

    private static Why why(RawFile.Row row) {
        String condition = row.name("condition");
        for (String part : condition.split(" and ", -1)) {
            if (!CONDITION.matcher(part).matches()) {
                throw row.wrong(
                        "condition", condition, "a figure or property, one of < <= > >= =, a value; joined by and");
            }
        }
        return new Why(row, row.name("experiment"), row.name("name"), condition, row.name("why"));
    }

    /** The table of a run. */
    List<Line> compare(Run run, Figures figures) {
        return claims.stream()
                .filter(claim -> claim.experiment.equals(run.property("experiment")))
                .map(claim -> compare(claim, run, figures))
                .toList();
    }

    private Line compare(Claim claim, Run run, Figures figures) {
        OptionalDouble measured = figures.get(claim.name);
        Matcher claimed = CLAIMED.matcher(claim.claimed);
        if (!claimed.matches()) {
            throw new IllegalStateException(claim.claimed);
        }
        String bound = claimed.group(1) == null ? "" : claimed.group(1);
        OptionalDouble beside = number(claimed.group(2), figures);
        Agreement agreement = measured.isEmpty() || beside.isEmpty()
                ? Agreement.NOT_MEASURED
                : agrees(measured.getAsDouble(), bound, beside.getAsDouble(), claim.tolerance)
                        ? Agreement.YES
                        : Agreement.NO;
        return new Line(
                claim.name,
                claim.claimed,
                beside,
                claim.unit,
                claim.tolerance,
                measured,
                agreement,
                agreement == Agreement.YES ? "" : why(claim, run, figures),
                claim.source);
    }

    private static boolean agrees(double measured, String bound, double claimed, String tolerance) {
        double slack = tolerance.isEmpty()
                ? 0
                : tolerance.endsWith("%")
                        ? Math.abs(claimed) * Double.parseDouble(tolerance.substring(0, tolerance.length() - 1)) / 100
                        : Double.parseDouble(tolerance);
        return switch (bound) {
            case "<" -> measured < claimed + slack;
            case "<=" -> measured <= claimed + slack;
            case ">" -> measured > claimed - slack;
            case ">=" -> measured >= claimed - slack;
            default -> Math.abs(measured - claimed) <= slack;
        };
    }

    private String why(Claim claim, Run run, Figures figures) {
        return whys.stream()
                .filter(why -> why.experiment.equals(claim.experiment)
                        && (why.name.equals("*") || why.name.equals(claim.name))
                        && holds(why.condition, run, figures))
                .map(Why::why)
                .findFirst()
                .orElse("");
    }

    private static boolean holds(String condition, Run run, Figures figures) {
        for (String part : condition.split(" and ", -1)) {
            Matcher words = CONDITION.matcher(part);
            if (!words.matches() || !holds(words.group(1), words.group(2), words.group(3), run, figures)) {
                return false;
            }
        }
        return true;
    }

    private static boolean holds(String left, String operator, String right, Run run, Figures figures) {
        if (operator.equals("=")) {
            return run.property(left).equals(right);
        }
        OptionalDouble first = number(run.properties().getOrDefault(left, left), figures);
        OptionalDouble second = number(run.properties().getOrDefault(right, right), figures);
        return first.isPresent()
                && second.isPresent()
                && agrees(first.getAsDouble(), operator, second.getAsDouble(), "");
    }

    private static OptionalDouble number(String text, Figures figures) {
        try {
            return OptionalDouble.of(Double.parseDouble(text));
        } catch (NumberFormatException e) {
            return figures.get(text);
        }
    }
}
