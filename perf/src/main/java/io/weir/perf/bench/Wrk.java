package io.weir.perf.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A closed load of as many requests as there are connections, by wrk on a core. */
final class Wrk {

    static final int CONNECTIONS = 32;

    private static final Pattern REQUESTS = Pattern.compile("(\\d+) requests in ");
    private static final Pattern RATE = Pattern.compile("Requests/sec:\\s+([\\d.]+)");
    private static final Pattern REFUSED = Pattern.compile("Non-2xx or 3xx responses: (\\d+)");

    /**
     * What came of it.
     *
     * @param refused answers that are neither 2xx nor 3xx
     */
    record Result(long requests, long refused, double perSecond) {

        /** Reads what wrk prints. Requests that got no answer make it worthless. */
        static Result parse(String output) {
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

    static Result run(int core, Duration time, String uri) throws IOException, InterruptedException {
        Process wrk = new ProcessBuilder(
                        "taskset",
                        "-c",
                        Integer.toString(core),
                        "wrk",
                        "-t1",
                        "-c" + CONNECTIONS,
                        "-d" + time.toSeconds() + "s",
                        uri)
                .redirectErrorStream(true)
                .start();
        try {
            String output = new String(wrk.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            wrk.waitFor();
            return Result.parse(output);
        } finally {
            wrk.destroyForcibly();
        }
    }
}
