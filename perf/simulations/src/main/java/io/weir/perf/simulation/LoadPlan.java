package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import io.gatling.javaapi.core.Assertion;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;

/** The settings of a simulation: the system properties {@code weir.*} that {@code perf/run} sets. */
final class LoadPlan {

    /** A period with a name, such as that of a fault. */
    record LoadPhase(String name, Duration length) {}

    /**
     * A period in which a fixed number of callers send requests. They arrive within its first second; in its last
     * two seconds they stop and receive their last answers.
     *
     * @param length whole seconds
     * @param once each caller sends one request at the beginning; otherwise it sends the next one after each answer
     */
    record CallerRound(String name, String path, int callers, Duration length, boolean once) {

        private static final Duration LAST_ANSWERS = Duration.ofSeconds(2);

        /** Parses {@code NAME|PATH|CALLERS|SECONDS|ONCE}. */
        static CallerRound parse(String text) {
            String[] parts = text.split("\\|", -1);
            Duration length = Duration.ofSeconds(Long.parseLong(parts[3]));
            return new CallerRound(
                    parts[0], parts[1], Integer.parseInt(parts[2]), length, Boolean.parseBoolean(parts[4]));
        }

        /** How long a caller sends requests. */
        Duration requestPeriod() {
            return length.minus(LAST_ANSWERS);
        }
    }

    private LoadPlan() {}

    static String text(String name) {
        return Objects.requireNonNull(System.getProperty("weir." + name), "weir." + name);
    }

    static double number(String name) {
        return Double.parseDouble(text(name));
    }

    /** The elements of a list that semicolons separate. */
    static Stream<String> list(String name) {
        return Stream.of(text(name).split(";", -1)).filter(one -> !one.isEmpty());
    }

    /** How long a caller waits for an answer. */
    static Duration patience() {
        return Duration.ofMillis(Long.parseLong(text("patience")));
    }

    static Path rows() {
        return Path.of(text("rows"));
    }

    /** The start of the run, in milliseconds since 1970; the times of rows count from it. */
    static long began() {
        return Long.parseLong(text("began"));
    }

    static List<LoadPhase> phases() {
        return list("phases")
                .map(phase -> phase.split(":", 2))
                .map(parts -> new LoadPhase(parts[0], Duration.ofMillis(Long.parseLong(parts[1]))))
                .toList();
    }

    static List<Assertion> assertions() {
        return list("assertions").map(LoadPlan::assertion).toList();
    }

    /** Parses {@code REQUEST|FIGURE|OPERATOR|VALUE}. */
    static Assertion assertion(String text) {
        String[] parts = text.split("\\|", -1);
        var requests = details(parts[0]);
        String operator = parts[2];
        int value = Integer.parseInt(parts[3]);
        return switch (parts[1]) {
            case "success-percent" -> compare(requests.successfulRequests().percent(), operator, (double) value);
            case "successes" -> compare(requests.successfulRequests().count(), operator, (long) value);
            case "failures" -> compare(requests.failedRequests().count(), operator, (long) value);
            case "min" -> compare(requests.responseTime().min(), operator, value);
            case "max" -> compare(requests.responseTime().max(), operator, value);
            default -> {
                double percent = Double.parseDouble(parts[1].substring(1));
                yield compare(requests.responseTime().percentile(percent), operator, value);
            }
        };
    }

    private static <T extends Number> Assertion compare(
            Assertion.WithPathAndTarget<T> figure, String operator, T value) {
        return switch (operator) {
            case "is" -> figure.is(value);
            case "lt" -> figure.lt(value);
            case "gt" -> figure.gt(value);
            case "gte" -> figure.gte(value);
            default -> throw new IllegalArgumentException(operator + " (expected: is, lt, gt or gte)");
        };
    }
}
