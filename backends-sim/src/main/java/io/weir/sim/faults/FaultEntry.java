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
 * A fault as it is written, in a JSON document or under {@code sim.faults.script[n]}. Durations are written {@code 250ms},
 * {@code 15s}, {@code 2m}.
 *
 * @param kind which: latency, errors, hang, reset, truncate, trickle, slow-start, cpu, pool, lock
 * @param path requests that it strikes, a pattern such as {@code /records/**}; default all
 * @param probability share of those that it strikes, more than 0 to 1; default 1
 * @param after time from the posting to its beginning, 0 or more; default 0
 * @param duration time from its beginning until it heals by itself, more than 0; default never
 * @param distribution of latency: fixed, uniform, log-normal, pareto; default fixed
 * @param delay of latency fixed and of slow-start, its first: more than 0 to 10 minutes
 * @param min of latency uniform: 0 or more
 * @param max of latency: uniform's upper end, and the longest that log-normal and pareto can draw; default 60 s
 * @param median of latency log-normal: more than 0
 * @param sigma of latency log-normal, its spread: more than 0 to 5; default 0.5
 * @param scale of latency pareto, its smallest value: more than 0
 * @param shape of latency pareto, its tail: more than 0 to 100, the smaller the heavier; default 2
 * @param shares of errors: the probability of each status from 400 to 599, together at most 1
 * @param share of truncate: how much of the body comes, 0 to less than 1; default 0.5
 * @param bytes of trickle: 1 to 65536 at a time; default 1
 * @param interval of trickle: more than 0 to 1 minute between them; default 1 s
 * @param ramp of slow-start: more than 0, until nothing of the delay is left; default 30 s
 * @param burn of cpu: more than 0 to 1 minute a request
 * @param connections of pool: how many are held, 1 to 1000; default all that there are
 * @param row of lock: the id of the locked row, 1 or more; default 1
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
record FaultEntry(
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

    /** The fault that this describes. {@code where} is its place in the document, for the problem that names the field. */
    Fault read(String where) {
        return new Reading(where).fault();
    }

    /** One reading, which knows where it is. */
    private final class Reading {
        private final String where;

        private Reading(String where) {
            this.where = where;
        }

        private Fault fault() {
            FaultKind read = kind();
            refuseForeignFields(read);
            return new Fault(
                    FaultEntry.this,
                    read,
                    effect(read),
                    number("probability", probability, 1.0, Double.MIN_VALUE, 1, "more than 0, to 1"),
                    pattern(),
                    time("after", after, Duration.ZERO, Duration.ZERO, EVER, "0s or more"),
                    duration == null ? null : positive("duration", duration, null, EVER));
        }

        private FaultKind kind() {
            if (kind == null) {
                throw problem("kind", "missing", "one of " + String.join(", ", FaultKind.ids()));
            }
            return FaultKind.of(kind)
                    .orElseThrow(() -> problem("kind", kind, "one of " + String.join(", ", FaultKind.ids())));
        }

        private Effect effect(FaultKind read) {
            return switch (read) {
                case LATENCY -> new Effect.Latency(delays());
                case ERRORS -> new Effect.Errors(statuses());
                case HANG -> new Effect.Hang();
                case RESET -> new Effect.Reset();
                case TRUNCATE ->
                    new Effect.Truncate(number("share", share, 0.5, 0, Math.nextDown(1.0), "0 to less than 1"));
                case TRICKLE ->
                    new Effect.Trickle(
                            (int) whole("bytes", bytes, 1, 65_536),
                            positive("interval", interval, Duration.ofSeconds(1), MINUTE));
                case SLOW_START ->
                    new Effect.SlowStart(
                            positive("delay", delay, null, DELAY_MAX),
                            positive("ramp", ramp, Duration.ofSeconds(30), EVER));
                case CPU -> new Effect.Cpu(positive("burn", burn, null, MINUTE));
                case POOL ->
                    new Effect.Pool(
                            connections == null ? Integer.MAX_VALUE : (int) whole("connections", connections, 1, 1000));
                case LOCK -> new Effect.Lock(whole("row", row, 1, Long.MAX_VALUE));
            };
        }

        private Delays delays() {
            String shape = distribution == null ? "fixed" : distribution;
            return switch (shape) {
                case "fixed" -> new Delays.Fixed(positive("delay", delay, null, DELAY_MAX));
                case "uniform" -> uniform();
                case "log-normal" ->
                    new Delays.LogNormal(
                            positive("median", median, null, DELAY_MAX),
                            number("sigma", sigma, 0.5, Double.MIN_VALUE, 5, "more than 0, to 5"),
                            positive("max", max, TAIL_MAX, DELAY_MAX));
                case "pareto" ->
                    new Delays.Pareto(
                            positive("scale", scale, null, DELAY_MAX),
                            number("shape", FaultEntry.this.shape, 2.0, Double.MIN_VALUE, 100, "more than 0, to 100"),
                            positive("max", max, TAIL_MAX, DELAY_MAX));
                default -> throw problem("distribution", shape, "one of fixed, uniform, log-normal, pareto");
            };
        }

        private Delays uniform() {
            Duration from = time("min", min, Duration.ZERO, Duration.ZERO, DELAY_MAX, "0s to " + text(DELAY_MAX));
            Duration to = positive("max", max, null, DELAY_MAX);
            if (to.compareTo(from) < 0) {
                throw problem("max", text(to), "at least min, " + text(from));
            }
            return new Delays.Uniform(from, to);
        }

        private SortedMap<Integer, Double> statuses() {
            if (shares == null || shares.isEmpty()) {
                throw problem("shares", "missing", "a probability for each status, such as {\"503\": 0.2}");
            }
            SortedMap<Integer, Double> read = new TreeMap<>();
            double sum = 0;
            for (Map.Entry<String, Double> one : shares.entrySet()) {
                String field = "shares." + one.getKey();
                int status = status(field, one.getKey());
                double probability = number(field, one.getValue(), 0.0, 0, 1, "0 to 1");
                read.put(status, probability);
                sum += probability;
            }
            // Shares that are written as decimals may add up to a little more than they say.
            if (sum > 1 + 1e-9) {
                throw problem("shares", "together " + sum, "together at most 1");
            }
            return read;
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

        /** A field of another kind would do nothing, and its author would wonder why. */
        private void refuseForeignFields(FaultKind read) {
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
                if (value != null && !read.fields().contains(field)) {
                    throw problem(
                            field,
                            value,
                            "nothing, since " + read.id() + " takes "
                                    + (read.fields().isEmpty()
                                            ? "no field of its own"
                                            : String.join(", ", read.fields())));
                }
            });
        }

        private Duration positive(String field, @Nullable Duration value, @Nullable Duration otherwise, Duration most) {
            return time(field, value, otherwise, Duration.ofNanos(1), most, "more than 0s, to " + text(most));
        }

        private Duration time(
                String field,
                @Nullable Duration value,
                @Nullable Duration otherwise,
                Duration least,
                Duration most,
                String expected) {
            Duration read = value != null ? value : otherwise;
            if (read == null) {
                throw problem(field, "missing", expected);
            }
            if (read.compareTo(least) < 0 || read.compareTo(most) > 0) {
                throw problem(field, text(read), expected);
            }
            return read;
        }

        private double number(
                String field, @Nullable Double value, double otherwise, double least, double most, String expected) {
            double read = value == null ? otherwise : value;
            if (!(read >= least && read <= most)) {
                throw problem(field, read, expected);
            }
            return read;
        }

        private long whole(String field, @Nullable Number value, long least, long most) {
            long read = value == null ? 1 : value.longValue();
            if (read < least || read > most) {
                throw problem(field, read, least + " to " + most);
            }
            return read;
        }

        private FaultProblem problem(String field, Object value, String expected) {
            return new FaultProblem(where + field, value, expected);
        }
    }

    private static String text(Duration duration) {
        return DurationText.of(duration);
    }
}
