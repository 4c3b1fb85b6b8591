package io.weir.sim.faults;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.weir.sim.faults.Fault.Effect;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import org.springframework.web.util.pattern.PatternParseException;

/**
 * A fault as written in a JSON document or under {@code sim.faults.script[n]}. Durations are written
 * {@code 250ms}, {@code 15s}, {@code 2m}.
 *
 * @param kind latency, errors, hang, reset, truncate, trickle, slow-start, cpu, pool or lock
 * @param path pattern of the affected paths, such as {@code /records/**}; default all
 * @param probability probability that it affects a request on its path, more than 0 to 1; default 1
 * @param after time from posting until it starts, 0 or more; default 0
 * @param duration time from its start until it heals by itself, more than 0; default never
 * @param distribution latency: fixed, uniform, log-normal or pareto; default fixed
 * @param delay latency fixed: the delay; slow-start: the delay at the start; more than 0 to 10 minutes
 * @param min latency uniform: the lower bound, 0 or more
 * @param max latency uniform: the upper bound; log-normal and pareto: the longest delay, default 60 s
 * @param median latency log-normal: more than 0
 * @param sigma latency log-normal: the spread, more than 0 to 5; default 0.5
 * @param scale latency pareto: the smallest delay, more than 0
 * @param shape latency pareto: the tail, more than 0 to 100, heavier the smaller; default 2
 * @param shares errors: the probability of each status from 400 to 599, together at most 1
 * @param share truncate: the share of the body that is sent, 0 to less than 1; default 0.5
 * @param bytes trickle: bytes sent at a time, 1 to 65536; default 1
 * @param interval trickle: time between two parts, more than 0 to 1 minute; default 1 s
 * @param ramp slow-start: time until the delay has shrunk to 0, more than 0; default 30 s
 * @param burn cpu: computing time per request, more than 0 to 1 minute
 * @param connections pool: connections held, 1 to 1000; default all
 * @param row lock: the id of the locked row, 1 or more; default 1
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record FaultDefinition(
        @Nullable String kind,
        @Nullable String path,
        @Nullable Double probability,
        @Nullable Duration after,
        @Nullable Duration duration,
        @Nullable String distribution,
        @Nullable Duration delay,
        @Nullable Duration min,
        @Nullable Duration max,
        @Nullable Duration median,
        @Nullable Double sigma,
        @Nullable Duration scale,
        @Nullable Double shape,
        @Nullable Map<String, Double> shares,
        @Nullable Double share,
        @Nullable Integer bytes,
        @Nullable Duration interval,
        @Nullable Duration ramp,
        @Nullable Duration burn,
        @Nullable Integer connections,
        @Nullable Long row) {

    private static final Duration DELAY_MAX = Duration.ofMinutes(10);
    private static final Duration TAIL_MAX = Duration.ofSeconds(60);
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration EVER = Duration.ofDays(365);

    /** Validates the definition. {@code location} is its place in the document, which error texts name. */
    Fault validate(String location) {
        return new DefinitionValidator(location).fault();
    }

    /** Validates one definition at a known place in the document. */
    private final class DefinitionValidator {
        private final String location;

        private DefinitionValidator(String location) {
            this.location = location;
        }

        private Fault fault() {
            FaultKind faultKind = kind();
            refuseFieldsOfOtherKinds(faultKind);
            return new Fault(
                    FaultDefinition.this,
                    faultKind,
                    effect(faultKind),
                    number("probability", probability, 1.0, Double.MIN_VALUE, 1, "more than 0, to 1"),
                    pattern(),
                    time("after", after, Duration.ZERO, Duration.ZERO, EVER, "0s or more"),
                    duration == null ? null : positiveTime("duration", duration, null, EVER));
        }

        private FaultKind kind() {
            if (kind == null) {
                throw problem("kind", "missing", "one of " + String.join(", ", FaultKind.ids()));
            }
            return FaultKind.of(kind)
                    .orElseThrow(() -> problem("kind", kind, "one of " + String.join(", ", FaultKind.ids())));
        }

        private Effect effect(FaultKind faultKind) {
            return switch (faultKind) {
                case LATENCY -> new Effect.AddLatency(delays());
                case ERRORS -> new Effect.AnswerErrors(statuses());
                case HANG -> new Effect.HoldUntilHealed();
                case RESET -> new Effect.ResetConnection();
                case TRUNCATE ->
                    new Effect.TruncateBody(number("share", share, 0.5, 0, Math.nextDown(1.0), "0 to less than 1"));
                case TRICKLE ->
                    new Effect.TrickleBody(
                            (int) wholeNumber("bytes", bytes, 1, 65_536),
                            positiveTime("interval", interval, Duration.ofSeconds(1), MINUTE));
                case SLOW_START ->
                    new Effect.DelayDuringRamp(
                            positiveTime("delay", delay, null, DELAY_MAX),
                            positiveTime("ramp", ramp, Duration.ofSeconds(30), EVER));
                case CPU -> new Effect.BurnCpu(positiveTime("burn", burn, null, MINUTE));
                case POOL ->
                    new Effect.TakeConnections(
                            connections == null
                                    ? Integer.MAX_VALUE
                                    : (int) wholeNumber("connections", connections, 1, 1000));
                case LOCK -> new Effect.LockRow(wholeNumber("row", row, 1, Long.MAX_VALUE));
            };
        }

        private DelayDistribution delays() {
            String shape = distribution == null ? "fixed" : distribution;
            return switch (shape) {
                case "fixed" -> new DelayDistribution.Fixed(positiveTime("delay", delay, null, DELAY_MAX));
                case "uniform" -> uniform();
                case "log-normal" ->
                    new DelayDistribution.LogNormal(
                            positiveTime("median", median, null, DELAY_MAX),
                            number("sigma", sigma, 0.5, Double.MIN_VALUE, 5, "more than 0, to 5"),
                            positiveTime("max", max, TAIL_MAX, DELAY_MAX));
                case "pareto" ->
                    new DelayDistribution.Pareto(
                            positiveTime("scale", scale, null, DELAY_MAX),
                            number(
                                    "shape",
                                    FaultDefinition.this.shape,
                                    2.0,
                                    Double.MIN_VALUE,
                                    100,
                                    "more than 0, to 100"),
                            positiveTime("max", max, TAIL_MAX, DELAY_MAX));
                default -> throw problem("distribution", shape, "one of fixed, uniform, log-normal, pareto");
            };
        }

        private DelayDistribution uniform() {
            Duration from = time("min", min, Duration.ZERO, Duration.ZERO, DELAY_MAX, "0s to " + text(DELAY_MAX));
            Duration to = positiveTime("max", max, null, DELAY_MAX);
            if (to.compareTo(from) < 0) {
                throw problem("max", text(to), "at least min, " + text(from));
            }
            return new DelayDistribution.Uniform(from, to);
        }

        private SortedMap<Integer, Double> statuses() {
            if (shares == null || shares.isEmpty()) {
                throw problem("shares", "missing", "a probability for each status, such as {\"503\": 0.2}");
            }
            SortedMap<Integer, Double> probabilities = new TreeMap<>();
            double sum = 0;
            for (Map.Entry<String, Double> entry : shares.entrySet()) {
                String field = "shares." + entry.getKey();
                int status = status(field, entry.getKey());
                double probability = number(field, entry.getValue(), 0.0, 0, 1, "0 to 1");
                probabilities.put(status, probability);
                sum += probability;
            }
            // The sum of decimal shares may exceed 1 by a rounding error.
            if (sum > 1 + 1e-9) {
                throw problem("shares", "together " + sum, "together at most 1");
            }
            return probabilities;
        }

        private int status(String field, String written) {
            try {
                int status = Integer.parseInt(written);
                if (status >= 400 && status <= 599) {
                    return status;
                }
            } catch (NumberFormatException e) {
                throw problem(field, written, "a status from 400 to 599");
            }
            throw problem(field, written, "a status from 400 to 599");
        }

        private @Nullable PathPattern pattern() {
            if (path == null) {
                return null;
            }
            try {
                if (path.startsWith("/")) {
                    return PathPatternParser.defaultInstance.parse(path);
                }
            } catch (PatternParseException e) {
                throw problem("path", path, "a path pattern such as /records/**; " + e.getMessage());
            }
            throw problem("path", path, "a path pattern that begins with /, such as /records/**");
        }

        /** Refuses fields of other kinds, which would have no effect. */
        private void refuseFieldsOfOtherKinds(FaultKind faultKind) {
            Map<String, @Nullable Object> special = new LinkedHashMap<>();
            special.put("distribution", distribution);
            special.put("delay", delay);
            special.put("min", min);
            special.put("max", max);
            special.put("median", median);
            special.put("sigma", sigma);
            special.put("scale", scale);
            special.put("shape", shape);
            special.put("shares", shares);
            special.put("share", share);
            special.put("bytes", bytes);
            special.put("interval", interval);
            special.put("ramp", ramp);
            special.put("burn", burn);
            special.put("connections", connections);
            special.put("row", row);
            special.forEach((field, value) -> {
                if (value != null && !faultKind.fields().contains(field)) {
                    throw problem(
                            field,
                            value,
                            "absent, since " + faultKind.id() + " takes "
                                    + (faultKind.fields().isEmpty()
                                            ? "no field of its own"
                                            : String.join(", ", faultKind.fields())));
                }
            });
        }

        private Duration positiveTime(
                String field, @Nullable Duration value, @Nullable Duration defaultValue, Duration highest) {
            return time(field, value, defaultValue, Duration.ofNanos(1), highest, "more than 0s, to " + text(highest));
        }

        private Duration time(
                String field,
                @Nullable Duration value,
                @Nullable Duration defaultValue,
                Duration lowest,
                Duration highest,
                String expected) {
            Duration effective = value != null ? value : defaultValue;
            if (effective == null) {
                throw problem(field, "missing", expected);
            }
            if (effective.compareTo(lowest) < 0 || effective.compareTo(highest) > 0) {
                throw problem(field, text(effective), expected);
            }
            return effective;
        }

        private double number(
                String field,
                @Nullable Double value,
                double defaultValue,
                double lowest,
                double highest,
                String expected) {
            double effective = value == null ? defaultValue : value;
            if (!(effective >= lowest && effective <= highest)) {
                throw problem(field, effective, expected);
            }
            return effective;
        }

        private long wholeNumber(String field, @Nullable Number value, long lowest, long highest) {
            long effective = value == null ? 1 : value.longValue();
            if (effective < lowest || effective > highest) {
                throw problem(field, effective, lowest + " to " + highest);
            }
            return effective;
        }

        private InvalidFaultException problem(String field, Object value, String expected) {
            return new InvalidFaultException(location + field, value, expected);
        }
    }

    private static String text(Duration duration) {
        return DurationFormat.of(duration);
    }
}
