package io.weir.perf.run;

import io.weir.perf.run.Processes.Role;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A result of wrk: a closed load with a fixed number of connections. wrk saturates servers that are faster
 * than a load generator on a JVM.
 *
 * @param refused answers with a status other than 2xx and 3xx
 */
public record Wrk(long requests, long refused, double perSecond) {

    public static final String PROGRAM = "wrk";

    private static final Pattern RESULT = Pattern.compile(
            "(\\d+) requests in .*?(?:Non-2xx or 3xx responses: (\\d+).*?)?Requests/sec:\\s+([\\d.]+)", Pattern.DOTALL);

    /** Some requests were not answered, so there is no result. */
    public static final class UnansweredException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        UnansweredException(String message) {
            super(message);
        }
    }

    /** If wrk is not installed, a sentence with the consequence and the command that installs it. */
    public static Stream<String> missing(String figures) {
        return Host.has(PROGRAM)
                ? Stream.empty()
                : Stream.of("Without wrk there are no figures of " + figures + ": apt-get install wrk.");
    }

    /**
     * Runs wrk with one thread, and a prefix such as {@code taskset}. A request is unanswered after ten
     * seconds.
     *
     * @param fields header fields, such as {@code Authorization: Bearer ...}
     */
    public static Wrk run(
            Processes processes, List<String> prefix, int connections, Duration time, String uri, String... fields)
            throws InterruptedException {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(
                List.of(PROGRAM, "-t1", "-c" + connections, "-d" + time.toSeconds() + "s", "--timeout", "10s", uri));
        Stream.of(fields).forEach(field -> command.addAll(List.of("-H", field)));
        return parse(processes.run(Role.GENERATOR, PROGRAM, command, time.plusMinutes(2)));
    }

    /** Warms a server up. Returns the number of rounds. */
    public static int warmUp(
            Processes processes, List<String> prefix, int connections, Duration time, int rounds, String uri)
            throws InterruptedException {
        return SteadyRate.reach(
                rounds, () -> run(processes, prefix, connections, time, uri).perSecond());
    }

    static Wrk parse(String output) {
        Matcher result = RESULT.matcher(output);
        if (!result.find() || output.contains("Socket errors")) {
            throw new UnansweredException("wrk: " + output.strip() + " (expected: only answered requests)");
        }
        return new Wrk(
                Long.parseLong(result.group(1)),
                Long.parseLong(Objects.requireNonNullElse(result.group(2), "0")),
                Double.parseDouble(result.group(3)));
    }
}
