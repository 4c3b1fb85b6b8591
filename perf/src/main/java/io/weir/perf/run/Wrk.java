package io.weir.perf.run;

import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** wrk: a closed load of as many requests as there are connections, for what is faster than a JVM that asks. */
public final class Wrk {

    private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in ");
    private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([\\d.]+)");
    private static final Pattern REFUSED = Pattern.compile("Non-2xx or 3xx responses: (\\d+)");

    /**
     * What came of it.
     *
     * @param refused answers that are neither 2xx nor 3xx
     */
    public record Result(long requests, long refused, double perSecond) {

        /** Reads what wrk prints. Requests that got no answer make it worthless. */
        public static Result parse(String output) {
            Matcher requests = REQUESTS.matcher(output);
            Matcher rate = RATE.matcher(output);
            Matcher refused = REFUSED.matcher(output);
            if (!requests.find() || !rate.find() || output.contains("Socket errors")) {
                throw new IllegalStateException("wrk: " + output.strip() + " (expected: answers only)");
            }
            return new Result(
                    Long.parseLong(requests.group(1)),
                    refused.find() ? Long.parseLong(refused.group(1)) : 0,
                    Double.parseDouble(rate.group(1)));
        }
    }

    private Wrk() {}

    /** Its command, with one thread. */
    public static List<String> command(int connections, Duration time, String uri) {
        return List.of("wrk", "-t1", "-c" + connections, "-d" + time.toSeconds() + "s", uri);
    }
}
