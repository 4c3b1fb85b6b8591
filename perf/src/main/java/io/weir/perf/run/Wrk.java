package io.weir.perf.run;

import io.weir.perf.run.Processes.Role;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A result of wrk: a closed load with a fixed number of connections. wrk saturates servers that are faster
 * than a load generator on a JVM.
 *
 * @param refused answers with a status other than 2xx and 3xx
 */
public record Wrk(long requests, long refused, double perSecond) {

    private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in ");
    private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([\\d.]+)");
    private static final Pattern REFUSED = Pattern.compile("Non-2xx or 3xx responses: (\\d+)");

    /** Some requests were not answered, so there is no result. */
    public static final class UnansweredException extends RuntimeException {

        private static final long serialVersionUID = 1L;

        UnansweredException(String message) {
            super(message);
        }
    }

    /**
     * Runs wrk with one thread.
     *
     * @param prefix of the command, such as {@code taskset}
     * @throws UnansweredException if some requests were not answered
     */
    public static Wrk run(Processes processes, List<String> prefix, int connections, Duration time, String uri)
            throws InterruptedException {
        List<String> command = new java.util.ArrayList<>(prefix);
        command.addAll(List.of("wrk", "-t1", "-c" + connections, "-d" + time.toSeconds() + "s", uri));
        ManagedProcess wrk = processes.start(Role.GENERATOR, "wrk", command, Map.of());
        wrk.mayEnd();
        try {
            processes.await("wrk ends", time.plusMinutes(2), () -> !wrk.isAlive());
            return parse(wrk.output());
        } finally {
            processes.forget(wrk);
        }
    }

    static Wrk parse(String output) {
        Matcher requests = REQUESTS.matcher(output);
        Matcher rate = RATE.matcher(output);
        Matcher refused = REFUSED.matcher(output);
        if (!requests.find() || !rate.find() || output.contains("Socket errors")) {
            throw new UnansweredException("wrk: " + output.strip() + " (expected: only answered requests)");
        }
        return new Wrk(
                Long.parseLong(requests.group(1)),
                refused.find() ? Long.parseLong(refused.group(1)) : 0,
                Double.parseDouble(rate.group(1)));
    }
}
