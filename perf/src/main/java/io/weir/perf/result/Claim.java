package io.weir.perf.result;

import java.util.List;
import java.util.OptionalDouble;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A figure that is claimed about an experiment. A run records the claims when it begins, so that nobody can
 * choose a tolerance after the result.
 *
 * @param experiment its name
 * @param name the measured figure, by its name in {@link RunFigures}
 * @param claimed a number ({@code 109}), a bound ({@code <19}, {@code >=99}), or a comparison with another
 *     figure ({@code <webflux/p99-ms})
 * @param tolerance a percentage of the claim ({@code 20%}) or an amount in its unit ({@code 0.05}); it also
 *     widens bounds; empty: none
 * @param source the document or person that makes the claim
 */
public record Claim(String experiment, String name, String claimed, String unit, String tolerance, String source) {

    private static final Pattern CLAIMED = Pattern.compile("(<=|>=|<|>|)\\s*([^<>=\\s]\\S*)");

    private static final CsvTable<Claim> SHIPPED = new CsvTable<>("claims.csv", Claim.class);

    public Claim {
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

    public static List<Claim> shipped(String experiment) {
        return SHIPPED.readResource().stream()
                .filter(claim -> claim.experiment.equals(experiment))
                .toList();
    }

    /** The claimed number, or the value of the figure that the claim names; empty: it was not measured. */
    public OptionalDouble reference(RunFigures figures) {
        String text = parts().group(2);
        try {
            return OptionalDouble.of(Double.parseDouble(text));
        } catch (NumberFormatException e) {
            return figures.get(text);
        }
    }

    public boolean agrees(double measured, double reference) {
        double amount = tolerance.isEmpty() ? 0 : Double.parseDouble(tolerance.replace("%", ""));
        double slack = tolerance.endsWith("%") ? Math.abs(reference) * amount / 100 : amount;
        return switch (parts().group(1)) {
            case "<" -> measured < reference + slack;
            case "<=" -> measured <= reference + slack;
            case ">" -> measured > reference - slack;
            case ">=" -> measured >= reference - slack;
            default -> Math.abs(measured - reference) <= slack;
        };
    }

    private Matcher parts() {
        Matcher parts = CLAIMED.matcher(claimed);
        if (!parts.matches()) {
            throw new IllegalStateException(claimed);
        }
        return parts;
    }
}
