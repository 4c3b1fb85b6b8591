package io.weir.perf.run;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The options of {@code perf/run chaos}.
 *
 * @param route the id of the route that gets the faults
 * @param routePath a path of that route which answers 200
 * @param neighbour the id of a route of another backend
 * @param neighbourPath a path of that route which answers 200
 * @param faults the faults, in turn
 * @param rate requests per second to each of the two routes; 1 to 1000
 * @param seconds the duration of each fault; 5 to 600. It is longer where the deadline needs it.
 * @param percent share of the route's calls that get the fault; 1 to 100
 * @param maxLossPercent how much lower the neighbour's share of successes may be than in its calm phase
 * @param maxSlowdown how many times the neighbour's calm p99 its p99 may be
 * @param graceMillis how much higher than its calm p99 it may be in any case
 * @param recoverySeconds the time after a fault within which the route must serve its callers again
 * @param slackMillis how much longer than the deadline a caller may wait
 * @param maxWaitingPercent the share of callers that may wait for a backend which is known to hang
 */
public record ChaosOptions(
        String route,
        String routePath,
        String neighbour,
        String neighbourPath,
        List<String> faults,
        int rate,
        int seconds,
        int percent,
        double maxLossPercent,
        double maxSlowdown,
        double graceMillis,
        int recoverySeconds,
        int slackMillis,
        double maxWaitingPercent) {

    public static final Set<String> FAULTS = Set.of("hang", "latency", "abort", "reset", "truncate");

    /** A fault heals by itself that much later than the run ends it. */
    public static final int SPARE_SECONDS = 10;

    private static final String DEFAULT_FAULTS = "hang,latency,abort,reset";

    /** The names of the options with a value, besides {@code --target}. */
    static final Set<String> NAMES = Set.of(
            "--management",
            "--route",
            "--neighbour",
            "--inject",
            "--rate",
            "--seconds",
            "--percent",
            "--max-loss",
            "--max-slowdown",
            "--grace-ms",
            "--recovery",
            "--slack-ms",
            "--max-waiting");

    static ChaosOptions parse(Map<String, String> given) {
        Map<String, String> values = new LinkedHashMap<>(given);
        String[] route = idAndPath("--route", values.get("--route"));
        String[] neighbour = idAndPath("--neighbour", values.get("--neighbour"));
        List<String> faults = new ArrayList<>();
        for (String fault : values.getOrDefault("--inject", DEFAULT_FAULTS).split(",", -1)) {
            if (!FAULTS.contains(fault)) {
                throw new IllegalArgumentException(
                        "--inject " + fault + " (expected: hang, latency, abort, reset or truncate, with commas)");
            }
            faults.add(fault);
        }
        return new ChaosOptions(
                route[0],
                route[1],
                neighbour[0],
                neighbour[1],
                List.copyOf(faults),
                (int) number(values, "--rate", "20", 1, 1000),
                (int) number(values, "--seconds", "10", 5, 600),
                (int) number(values, "--percent", "100", 1, 100),
                number(values, "--max-loss", "0.5", 0, 100),
                number(values, "--max-slowdown", "1.5", 1, 100),
                number(values, "--grace-ms", "50", 0, 60_000),
                (int) number(values, "--recovery", "5", 1, 600),
                (int) number(values, "--slack-ms", "500", 0, 60_000),
                number(values, "--max-waiting", "10", 0, 100));
    }

    private static String[] idAndPath(String option, @Nullable String text) {
        int at = text == null ? -1 : text.indexOf('=');
        if (text == null || at <= 0 || at + 1 >= text.length() || text.charAt(at + 1) != '/') {
            throw new IllegalArgumentException(option + ' ' + (text == null ? "missing" : text)
                    + " (expected: ID=PATH, the route's id and a path of it, such as orders=/orders/7)");
        }
        return new String[] {text.substring(0, at), text.substring(at + 1)};
    }

    private static double number(Map<String, String> values, String option, String byDefault, double min, double max) {
        String text = values.getOrDefault(option, byDefault);
        try {
            double value = Double.parseDouble(text);
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Refused below.
        }
        throw new IllegalArgumentException("%s %s (expected: %.0f to %.0f)".formatted(option, text, min, max));
    }

    /** The time after a fault's begin within which the gateway finds out that the backend hangs. */
    public static long settleMillis(long deadlineMillis) {
        return deadlineMillis + 1_000;
    }

    /** The duration of a fault: long enough to see what happens once the gateway knows it. */
    public int faultSeconds(long deadlineMillis) {
        return (int) Math.max(seconds, Math.ceilDiv(settleMillis(deadlineMillis), 1_000L) + 2);
    }

    /** The members of the order of a fault. */
    public static Map<String, ?> order(String fault, long deadlineMillis) {
        return switch (fault) {
            // Slow, but within the deadline.
            case "latency" -> Map.of("fault", fault, "latency", Math.max(1, deadlineMillis / 3) + "ms");
            case "abort" -> Map.of("fault", fault, "status", 503);
            default -> Map.of("fault", fault);
        };
    }
}
