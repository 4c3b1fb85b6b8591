package io.weir.perf.simulation;

import static io.gatling.javaapi.core.CoreDsl.details;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.gatling.javaapi.core.Assertion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The load of a simulation: the JSON file that {@code perf/run} writes. The open model has phases and
 * callers, the closed model has rounds.
 *
 * @param rows the file for the rows of all requests
 * @param beganMillis the start of the run, in milliseconds since 1970; the times of rows count from it
 * @param request names the requests of a closed model
 */
record LoadPlan(
        String url,
        long timeoutMillis,
        String rows,
        long beganMillis,
        String request,
        List<LoadPhase> phases,
        List<OpenCallers> callers,
        List<CallerRound> rounds,
        List<PlannedAssertion> assertions) {

    record LoadPhase(String name, long seconds) {
        Duration length() {
            return Duration.ofSeconds(seconds);
        }
    }

    /**
     * Callers that arrive at a fixed rate per second, in the phase {@code overload} at another one. {@code
     * exponential}: the times between arrivals are; otherwise they are equal.
     */
    record OpenCallers(String name, String path, double rate, double overloadRate, boolean exponential) {}

    /**
     * A fixed number of callers send requests. They arrive within the first second; in the last two seconds
     * they stop and receive their last answers. {@code once}: each sends one request at the beginning;
     * otherwise, each waits for {@code thinkMillis} after an answer.
     */
    record CallerRound(String name, String path, int callers, long seconds, boolean once, long thinkMillis) {

        private static final Duration LAST_ANSWERS = Duration.ofSeconds(2);

        Duration length() {
            return Duration.ofSeconds(seconds);
        }

        Duration thinkTime() {
            return Duration.ofMillis(thinkMillis);
        }

        Duration requestPeriod() {
            return length().minus(LAST_ANSWERS);
        }
    }

    /** The fields of a {@code LoadAssertion} of {@code perf/run}. */
    record PlannedAssertion(String request, String figure, String operator, int value) {

        Assertion assertion() {
            var requests = details(request);
            return switch (figure) {
                case "success-percent" -> compare(requests.successfulRequests().percent(), (double) value);
                case "successes" -> compare(requests.successfulRequests().count(), (long) value);
                case "failures" -> compare(requests.failedRequests().count(), (long) value);
                case "min" -> compare(requests.responseTime().min(), value);
                case "max" -> compare(requests.responseTime().max(), value);
                default -> {
                    double percent = Double.parseDouble(figure.substring(1));
                    yield compare(requests.responseTime().percentile(percent), value);
                }
            };
        }

        private <T extends Number> Assertion compare(Assertion.WithPathAndTarget<T> measured, T required) {
            return switch (operator) {
                case "is" -> measured.is(required);
                case "lt" -> measured.lt(required);
                case "gt" -> measured.gt(required);
                case "gte" -> measured.gte(required);
                default -> throw new IllegalArgumentException(operator + " (expected: is, lt, gt or gte)");
            };
        }
    }

    static LoadPlan read() {
        try {
            return parse(Files.readString(Path.of(System.getProperty("weir.plan", ""))));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static LoadPlan parse(String json) throws IOException {
        return new ObjectMapper().readValue(json, LoadPlan.class);
    }

    List<Assertion> gatlingAssertions() {
        return assertions.stream().map(PlannedAssertion::assertion).toList();
    }
}
